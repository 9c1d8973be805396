"""A baseline entry matches no finding.

The baseline file lists a finding that is no longer there: it was mended, or the layer was renamed.

**What to do.** Write the baseline again with `--write-baseline`.
"""
