"""How often the loops of the functions for integers run: one file for each family of kernels."""
