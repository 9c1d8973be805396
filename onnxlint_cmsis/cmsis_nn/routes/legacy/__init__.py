"""One file per choice that the application makes between functions for q7 and q15 of CMSIS 5.

No function of the library chooses there. The order of the branches is that of ONNC's Algorithm 3: the most special
function whose own check (ARM_MATH_SIZE_MISMATCH) lets the layer pass, else the basic one. The line of a branch is that
of the check, in the body that the build has; for functions that check nothing, that of the definition.
"""
