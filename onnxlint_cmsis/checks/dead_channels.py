"""Channels are constant or unread.

A channel is constant when it holds the same value at every position for every input: all its weights are zero after
quantization, or all it reads is constant. It is unread when every weight that reads it is zero. Such channels cost as
much as any other, and taking them out is exact: what a constant adds to the sums goes into the int32 bias of the
layers that read it. Sometimes a few of them are better kept, because the kernels work in blocks; the finding names the
count that `--fix` would choose.

Where the count is LOCKED, or the channel is read together with zero padding that makes its border differ, the channel
has to stay; the former is told as a note with the reason.

This is the one rule that reads weights. It does not run while linting files larger than `size-checks-limit` or models
of more layers than `size-checks-layers`, nor with `--no-weights`.

**What to do.** `onnxlint-cmsis --diff` shows the whole plan, `--fix` applies it and proves that the outputs stay the
same. Dead channels in a trained model often mean that it could have been trained narrower.
"""
