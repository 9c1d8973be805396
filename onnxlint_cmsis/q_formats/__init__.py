"""Q-formats of a model for the functions for q7 and q15: fraction bits from the largest magnitude, and shifts."""
