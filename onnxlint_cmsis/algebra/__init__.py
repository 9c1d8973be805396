"""Plain types of the algebra: dimension variables, resolved axes, what a rule sees of a node."""
