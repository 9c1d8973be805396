"""Accepted findings: single ones with a reason (`suppress`), or all of one time (`baseline`)."""
