"""The same kernel runs fewer instructions with more channels.

Kernels work in blocks of 2, 4, 8 or 16 channels and go over what is left one by one, so that a few channels more, all
zero, can cost less. Which counts those are depends on kernel, instruction set and release, and a channel count that
several layers share has one size for all of them. The finding names a count for which the predicted instructions of
the whole model fall, on no target rise, and by at least `min-gain`; it is the count that `--fix` would choose, with
all the others that it would change at the same time. Where more channels step around an error or a wrong result
(CNN3xx), the finding names them at their price, which may be more instructions, and says what they step around.

The numbers are predicted instructions, not cycles: loops counted from the sizes, times instructions measured once for
each loop on an emulated Cortex-M with gcc. Where a layer along the channels has no such prediction, more channels are
never proposed, unless they step around an error or a wrong result.

Channels inside a Loop or Scan, which no fix can be proven for, are not told of.

Searching sizes takes time, so this rule does not run while linting files larger than `size-checks-limit` or models of
more layers than `size-checks-layers`.

**What to do.** `onnxlint-cmsis --diff` shows the whole plan, `--fix` applies it with zeros and proves that the outputs
stay the same. Or choose the count when the model is trained next.
"""
