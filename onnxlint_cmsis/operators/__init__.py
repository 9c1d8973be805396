"""What an operator is: one file per family with its records, ties, values and new lanes."""
