"""The page that `report` writes: figures, layers, the arena and the graph, as records and drawings in a template."""
