"""The file is not an ONNX model.

The bytes are not those of a serialized `ModelProto`: the file is empty, truncated, text, or of another format.
The message says what was found. The exit code is 2; other files of the same run are still linted.

**What to do.** Export the model again. A truncated file usually comes from an interrupted copy or upload.
"""
