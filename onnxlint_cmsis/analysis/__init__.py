"""One model for some targets: dimension classes, lanes, calls, memory, coverage, and the results that people see."""
