"""Repairs by rewriting: exact ways round a known error that change nodes instead of channel counts."""
