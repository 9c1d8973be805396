"""One file from bytes to findings."""
