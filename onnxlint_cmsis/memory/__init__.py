"""How activations lie in RAM."""
