"""Which sizes the classes of a model get."""
