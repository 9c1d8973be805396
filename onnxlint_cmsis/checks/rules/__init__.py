"""One file per rule: its row, its documentation with a bad and a good example, and what it runs."""
