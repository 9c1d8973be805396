"""One file per wrapper: its branches in the order of the C else-if chain, each with its source."""
