"""Runtimes that call CMSIS-NN: what each hands over, refuses, drops, or computes in its reference code."""
