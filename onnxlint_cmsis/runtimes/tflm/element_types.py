"""Element types that kernels take, and how `struct` reads them."""

FLOAT, INT8, INT16 = ("FLOAT32",), ("INT8",), ("INT16",)
NUMBERS, MOVED = ("FLOAT32", "INT8", "INT16"), ("FLOAT32", "INT8")
INDEX_TYPES = ("INT32", "INT64")
UNSIZED = ("STRING", "VARIANT", "INT2", "UINT4", "FLOAT8_E4M3FN", "FLOAT8_E5M2")
"""Element types without a size (lite/micro/memory_helpers.cc:47)."""
FORMATS = {"INT8": "b", "UINT8": "B", "INT16": "h", "INT32": "i", "INT64": "q", "FLOAT32": "f", "BOOL": "?"}
"""Letter of `struct` for each element type."""
