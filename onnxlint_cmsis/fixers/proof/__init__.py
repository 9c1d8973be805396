"""Whether a changed model computes what the old one did, shown by running both."""
