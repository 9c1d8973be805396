"""Transfer functions of operators: what a result holds, where its elements come from, which ones it needs."""
