"""The checker of certificates: whether two files compute the same for every input, and the facts that say why.

`comparison` has the theorem; `reading` reads a file into the numbers of `table`.
"""
