"""Words that every room uses: errors, types, findings, safe reading and writing of files."""
