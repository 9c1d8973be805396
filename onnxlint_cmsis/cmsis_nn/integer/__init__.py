"""The functions for s8, s16 and s4: routes, scratch and hazards of each family of kernels."""
