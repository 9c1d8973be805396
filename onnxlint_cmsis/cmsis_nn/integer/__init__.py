"""The functions for s8, s16 and s4: one file per kernel family with its routes, hazards, scratch and cost."""
