"""Changing a model: apply a plan of sizes, prove that the result computes the same, write it whole or not at all."""
