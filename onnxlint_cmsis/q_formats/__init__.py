"""Q-formats of a model's tensors for the functions for q7 and q15: fraction bits from the largest magnitude, shifts."""
