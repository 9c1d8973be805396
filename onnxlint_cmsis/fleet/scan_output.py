"""The output of a scan: a folder of Parquet files, each with the rows of some models, whole or not there."""

from __future__ import annotations

import io
import uuid
from collections.abc import Sequence
from typing import Any

from onnxlint_cmsis.fleet.scan_rows import FILE, ScanRow, TargetRow
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.ground.errors import UsageError

MOST = 2**63 - 1
"""Largest number of a column; the sizes of a damaged model may be larger."""


MADE_BY = b"onnxlint-cmsis"
"""Key of the metadata that tells by what a part was made."""


class PartFolder:
    """A folder of parts, here or behind a URL; what is in it need not be done again."""

    def __init__(self, url: str, settings: str) -> None:
        """`settings` is a digest of what the models are linted with. Raises UsageError for a path that is a file."""
        import fsspec

        self._system, self._folder = fsspec.core.url_to_fs(url)
        self._url = url
        self._made_by = f"{__version__} {settings}".encode()
        if self._system.isfile(self._folder):
            raise UsageError(f"--out {url}: this is a file; allowed is a folder of parts, or a name that is free")
        self._parts = sorted(self._system.glob(f"{self._folder}/part-*.parquet"))

    def done(self) -> set[str]:
        """URLs of the models in the parts, as `whole` has them.

        Raises UsageError for parts made otherwise and files that are no parts.
        """
        import pyarrow
        from pyarrow import parquet

        urls: set[str] = set()
        for part in self._parts:
            try:
                with self._system.open(part, "rb") as file:
                    opened = parquet.ParquetFile(file)
                    self._check(part, opened.schema_arrow.metadata or {})
                    table = opened.read(["kind", "url"]).to_pydict()
            except (pyarrow.ArrowException, KeyError) as error:
                raise UsageError(f"{part}: not a part of a scan: {error}") from None
            urls.update(url for kind, url in zip(table["kind"], table["url"], strict=True) if kind == FILE)
        return urls

    def add(self, rows: Sequence[ScanRow]) -> None:
        """Write one more part; it gets its name when it is whole."""
        from pyarrow import parquet

        table = _table(rows).replace_schema_metadata({MADE_BY: self._made_by})
        buffer = io.BytesIO()
        parquet.write_table(table, buffer, compression="zstd")
        name = f"part-{len(self._parts):05}-{uuid.uuid4().hex[:8]}.parquet"
        self._system.makedirs(self._folder, exist_ok=True)
        self._system.pipe_file(f"{self._folder}/.{name}", buffer.getvalue())
        self._system.mv(f"{self._folder}/.{name}", f"{self._folder}/{name}")
        self._parts.append(f"{self._folder}/{name}")

    def _check(self, part: str, metadata: dict[bytes, bytes]) -> None:
        made_by = metadata.get(MADE_BY, b"")
        if made_by != self._made_by:
            raise UsageError(
                f"{part}: made by another version or with other settings; scan into another folder than {self._url}"
            )


def _table(rows: Sequence[ScanRow]) -> Any:
    import pyarrow

    plain = [
        {name: _held(value) for name, value in row._asdict().items()}
        | {"per_target": [_target(target) for target in row.per_target] if row.per_target else None}
        for row in rows
    ]
    return pyarrow.Table.from_pylist(plain, schema=schema())


def _target(row: TargetRow) -> dict[str, object]:
    return {name: _held(value) for name, value in row._asdict().items()}


def _held(value: object) -> object:
    """What a column can hold: no half characters, and the largest number in place of one of more bits."""
    if isinstance(value, str):
        return whole(value)
    return max(-MOST, min(value, MOST)) if isinstance(value, int) else value


def whole(text: str) -> str:
    """The text with half characters, which no UTF-8 has, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def schema() -> Any:
    """The columns of a part, as Arrow has them: those of ScanRow, and in `per_target` those of TargetRow."""
    import pyarrow

    target = pyarrow.struct([(name, _type(text)) for name, text in _hints(TargetRow)])
    special = {"targets": pyarrow.list_(pyarrow.string()), "per_target": pyarrow.list_(target)}
    return pyarrow.schema([(name, special.get(name) or _type(text)) for name, text in _hints(ScanRow)])


def _hints(row: Any) -> list[tuple[str, str]]:
    """Each field with its type as it is written."""
    return [(name, str(getattr(hint, "__forward_arg__", hint))) for name, hint in row.__annotations__.items()]


def _type(hint: str) -> Any:
    import pyarrow

    kinds = {"str": pyarrow.string(), "int": pyarrow.int64(), "float": pyarrow.float64(), "bool": pyarrow.bool_()}
    return kinds.get(hint.partition(" ")[0])
