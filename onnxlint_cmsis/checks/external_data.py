"""External data is missing, short or outside the model's folder.

A tensor keeps its bytes in another file. ONNX allows a relative path below the model's folder only; absolute paths,
`..` and symbolic links out of the folder are refused, and the file must hold as many bytes as the tensor claims.
The graph is linted all the same, since linting reads no weights.

**What to do.** Commit the data file beside the model, or store the weights inside it.
"""
