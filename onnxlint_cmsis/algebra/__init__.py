"""Plain types of the algebra: dimension variables, resolved axes, and the context of a tie rule."""
