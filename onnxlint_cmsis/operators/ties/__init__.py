"""Which axes an operator ties, which it locks and why: one small function per operator."""
