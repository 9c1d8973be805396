"""Findings that someone has accepted: some for a reason (`suppress`), or all there were at one time (`baseline`)."""
