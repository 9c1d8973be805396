"""Words that every room uses: errors, types, findings, safe reading and writing of files; and the version.

It imports nothing, so that packaging tools can read the version, and every room may.
"""

__version__ = "0.1.0"
