"""A suppression matches no finding.

An entry of `suppress` in the configuration, or an `onnxlint-cmsis:ignore` key in the metadata of the model or of a
node, names a rule that reported nothing there.

**What to do.** Remove it, so that it cannot hide a finding that appears later.
"""
