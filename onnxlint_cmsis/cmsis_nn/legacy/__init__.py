"""The functions for q7 and q15 of CMSIS 5."""
