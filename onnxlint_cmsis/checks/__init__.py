"""One file per rule; `table.py` lists them."""
