"""Tie rules, one small function per operator: which axes are tied, which are locked, and why."""
