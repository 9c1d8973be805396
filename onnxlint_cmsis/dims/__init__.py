"""Dimension classes: channel counts that must stay equal, the layers that decide them, the locks on them."""
