"""One model as plain data: the graph, and the algebra of its axes and values. No file format, no CMSIS-NN."""
