"""A given input shape does not fit the model.

`--input-shape` or `input-shapes` names an input that the model does not have, or gives another rank or another
number for a size that the model fixes. The exit code is 2, since what follows would be about another model.

**What to do.** The message lists the inputs with their sizes.
"""
