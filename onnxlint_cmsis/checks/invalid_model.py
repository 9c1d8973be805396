"""The model breaks a rule of ONNX.

`onnx.checker` refuses the model, or a part of it contradicts itself: weights whose shape does not fit their
operator, a scale that is not a positive finite number, a value that nothing produces, a dimension that cannot
be. The rest of the model is linted all the same, since converters often accept what the checker refuses.

**What to do.** The message names the node and what is allowed there.
"""
