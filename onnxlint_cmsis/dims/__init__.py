"""Dimension variables: which channel counts must stay equal, who decides them, what locks them."""
