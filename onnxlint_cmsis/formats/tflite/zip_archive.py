"""A ZIP archive behind a flatbuffer, as TensorFlow Lite's metadata tools append one with labels and vocabularies.

Its directory gives the places of its files counted from the first byte of the whole file, so they move with it.
"""

from __future__ import annotations

import struct

END = b"PK\x05\x06"
"""Start of the record that ends an archive."""


ENTRY = b"PK\x01\x02"
"""Start of each entry of its directory."""


def is_zip(data: bytes) -> bool:
    """Tell whether the bytes behind a flatbuffer hold an archive."""
    return END in data


def moved_zip(data: bytes, before: int, moved: int) -> bytes:
    """An archive that starts `moved` bytes later than behind `before` bytes, with its offsets counted anew.

    One whose offsets are counted from its own start is left as it is.
    """
    archive = bytearray(data)
    end = data.rfind(END)
    size, offset = struct.unpack_from("<II", data, end + 12)
    at = end - size
    if offset != before + at or at < 0:
        return data
    struct.pack_into("<I", archive, end + 16, offset + moved)
    while archive[at : at + 4] == ENTRY:
        name, extra, comment = struct.unpack_from("<HHH", archive, at + 28)
        stored = struct.unpack_from("<I", archive, at + 42)[0]
        struct.pack_into("<I", archive, at + 42, stored + moved)
        at += 46 + name + extra + comment
    return bytes(archive)
