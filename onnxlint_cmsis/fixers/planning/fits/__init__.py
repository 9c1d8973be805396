"""Where each repair by rewriting fits: one file for each, with its row."""
