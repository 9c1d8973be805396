"""One file per choice that the application makes between functions for q7 and q15 of CMSIS 5.

No function of the library chooses there. The order of the branches is that of ONNC's Algorithm 3: the most special
function whose check (ARM_MATH_SIZE_MISMATCH) accepts the layer, else the basic one. A branch cites the line of the
check in the body of the build; functions without a check cite their definition.
"""
