"""Scan many models with Dask: rows of each model as Parquet files, whole or not there."""

from __future__ import annotations

import hashlib
import io
import time
import uuid
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.cli.api import is_model, is_skipped, lint_bytes
from onnxlint_cmsis.ground import __version__
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.files import MODEL, NotReadError, read_stream
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.workers import Ended, Task, each_done, team

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from onnxlint_cmsis.cli.api import FileResult, Settings, TargetSummary
    from onnxlint_cmsis.ground.findings import Finding


# The rows of a scan: the columns of its Parquet files, for files and for findings.


FILE = "file"
FINDING = "finding"
OK = "ok"
EXTERNAL = "external"
UNREADABLE = "unreadable"
CRASHED = "crashed"
ERROR = "error"
STATUSES = {
    OK: "linted",
    EXTERNAL: "linted without its external data, which lie beside the model and are not fetched",
    UNREADABLE: "the URL could not be read, or holds no model; `message` of the file's row says why",
    CRASHED: "the model ended the process that linted it; `message` says how",
    ERROR: "an internal error of the linter; `message` has it",
}
"""What the column `status` holds, and what it means."""


class TargetRow(NamedTuple):
    """A model on one target: an element of the column `per_target`."""

    target: str
    """CPU, release of CMSIS-NN and compiler."""
    verdict: str
    """`RUNS`, `STOPS` and so on, as the first line of a lint says."""
    layers_cmsis_nn: int
    """Layers that functions of CMSIS-NN compute."""
    macs_cmsis_nn: int
    """Their multiply-accumulates, as far as these are known."""
    layers_reference_code: int
    """Layers in reference code."""
    macs_reference_code: int
    """Their multiply-accumulates."""
    layers_refused: int
    """Layers that no kernel is known to compute, or that the runtime refuses."""
    macs_refused: int
    """Their multiply-accumulates."""
    layers_undecided: int
    """Layers that an unknown size leaves open."""
    instructions: int
    """Predicted instructions (not cycles) of the layers of known cost."""
    unknown_cost: int
    """Layers whose cost is not known and that `instructions` leaves out."""
    constants: int
    """Bytes of weights, biases, multipliers and shifts, as far as sizes are known."""
    scratch: int | None
    """Bytes of the largest scratch buffer, as far as sizes are known; null where the runtime asks for unknown ones."""
    arena: int | None
    """Bytes of the arena of TensorFlow Lite Micro, to the byte; null where the file does not tell."""
    ms_at_least: float | None
    """Lower bound of the predicted milliseconds of a run (`--clock`); null where nothing is predicted."""
    ms_at_most: float | None
    """Upper bound of the same; layers of unknown cost come on top."""


class ScanRow(NamedTuple):
    """A file, or a finding on it."""

    kind: str
    """`file` or `finding`: a file has one row, and one more for each finding."""
    url: str
    """The model, with its protocol: `file:///models/kws.onnx`, `s3://bucket/kws.tflite`."""
    status: str
    """`ok`, `external`, `unreadable`, `crashed` or `error`; the same in all rows of a file."""
    size: int | None = None
    """Bytes of the model; null where they were not read."""
    sha256: str | None = None
    """Digest of these bytes, in hexadecimal; null where they were not read."""
    code: str | None = None
    """Rule of a finding; null in the row of a file, like the next seven."""
    level: str | None = None
    """`note`, `warning` or `error`."""
    name: str | None = None
    """Name of the rule."""
    node: str | None = None
    """Label of the node; empty for a finding on the whole file."""
    message: str | None = None
    """What is the matter; in the row of a file why it has no findings, null where it was linted."""
    remedy: str | None = None
    """What to do about it."""
    targets: tuple[str, ...] | None = None
    """Targets that a finding holds for; empty where it depends on none."""
    fixable: bool | None = None
    """Whether `--fix` may answer a finding."""
    findings: int | None = None
    """Findings on a file; null in the row of a finding, like all that follow."""
    macs: int | None = None
    """Multiply-accumulates of all layers, as far as these are known; null where the file was not linted."""
    unknown_macs: int | None = None
    """Layers whose multiply-accumulates are not known."""
    arena_at_least: int | None = None
    """Bytes of activations, at least; null where a size is unknown."""
    per_target: tuple[TargetRow, ...] | None = None
    """The model on each target."""
    verdict: str | None = None
    """The worst verdict of all targets; null for a file that is no model."""


def summarized(row: ScanRow, result: FileResult) -> ScanRow:
    """The row of a file with its verdicts, and with what its model is and needs."""
    summary, words = result.summary, {verdict.target: verdict.word for verdict in result.verdicts}
    return row._replace(
        macs=summary.macs,
        unknown_macs=summary.unknown_macs,
        arena_at_least=summary.arena,
        per_target=tuple(_target_row(target, words[target.target]) for target in summary.targets),
        verdict=result.verdict,
    )


def finding_row(file: ScanRow, finding: Finding) -> ScanRow:
    """The row of a finding on a file."""
    return ScanRow(
        FINDING,
        file.url,
        file.status,
        file.size,
        file.sha256,
        finding.code,
        finding.level.name.lower(),
        finding.name,
        finding.location.node,
        finding.message,
        finding.remedy,
        finding.targets,
        bool(finding.properties.get("fixable")),
    )


def _target_row(summary: TargetSummary, word: str) -> TargetRow:
    bounds = summary.time.milliseconds if summary.time else None
    return TargetRow(
        summary.target,
        word,
        *summary.cmsis_nn[:2],
        *summary.reference_code[:2],
        *summary.no_kernel[:2],
        summary.undecided.layers,
        summary.instructions,
        summary.unknown_cost,
        summary.constants,
        summary.scratch,
        summary.arena_used,
        *(bounds or (None, None)),
    )


# The output of a scan: a folder of Parquet files, each with the rows of some models, whole or not there.


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


# One model of a scan, from its URL to its rows; this runs in a process that the model may end.


class ScanJob(NamedTuple):
    """One model to scan."""

    url: str
    """Where the model is."""
    settings: Settings
    """What it is linted with."""


def scan_model(job: ScanJob) -> tuple[ScanRow, ...]:
    """The row of the file and those of its findings; whatever goes wrong is told in the first."""
    import fsspec

    try:
        with fsspec.open(job.url, "rb") as file:
            data = read_stream(file, MODEL, job.url)
    except NotReadError as error:
        return (ScanRow(FILE, job.url, UNREADABLE, message=f"the file {error.strerror}"),)
    except Exception as error:  # each file system raises other errors
        return (ScanRow(FILE, job.url, UNREADABLE, message=_scan_model_told(error)),)
    file_row = ScanRow(FILE, job.url, OK, len(data), hashlib.sha256(data).hexdigest())
    try:
        result = lint_bytes(job.url, data, job.settings)
        row = file_row._replace(findings=len(result.findings))
        if not result.readable:
            why = result.findings[0].message if result.findings else "it is no model"
            row = row._replace(status=UNREADABLE, message=why)
        elif result.unfetched:
            row = row._replace(status=EXTERNAL)
        if result.summary.targets:
            row = summarized(row, result)
        return (row, *(finding_row(row, finding) for finding in result.findings))
    except Exception as error:
        return (file_row._replace(status=ERROR, message=_scan_model_told(error)),)


def _scan_model_told(error: Exception) -> str:
    """An exception in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


# From folders, globs and URLs to the models of a scan.


GLOB = frozenset("*?[")
"""Characters that make a path a pattern."""


class ModelUrls(NamedTuple):
    """The models of a scan."""

    urls: tuple[str, ...]
    """Each model once, with its protocol, in the order of the arguments; those of a folder sorted."""
    empty: tuple[str, ...]
    """Arguments that stand for no model."""


def model_urls(given: list[str]) -> ModelUrls:
    """Find the models. Raises UsageError for a file system that is not installed or does not answer."""
    models: dict[str, None] = {}
    empty = []
    for text in given:
        urls = _below(text)
        models.update(dict.fromkeys(urls))
        if not urls:
            empty.append(text)
    return ModelUrls(tuple(models), tuple(empty))


def _below(text: str) -> list[str]:
    """The models of one argument; a file that is named is one, whatever its name."""
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(text)
        if GLOB & set(path):
            return _urls(system, [candidate for candidate in system.glob(path) if is_model(candidate)], text)
        if system.isdir(path):
            models = [below for below in system.find(path) if is_model(below) and not _hidden(below, path)]
            return _urls(system, models, text)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{text}: {error}") from None
    except Exception as error:  # each file system raises other errors
        raise UsageError(f"{text}: it cannot be listed: {type(error).__name__}: {error}") from None
    return _urls(system, [path], text)


def _urls(system: Any, paths: list[str], text: str) -> list[str]:
    """URLs of the paths; those of a chain (`zip://*.onnx::s3://zoo/a.zip`) keep what comes behind its first part."""
    first, chained, rest = text.partition("::")
    if chained and "://" not in first:  # such as `simplecache::s3://zoo`, whose paths are those of the second part
        protocol = rest.partition("://")[0]
        return [f"{first}::{protocol}://{path}" for path in sorted(paths)]
    return [f"{system.unstrip_protocol(path)}{chained}{rest}" for path in sorted(paths)]


def _hidden(path: str, folder: str) -> bool:
    """Whether a file lies in a folder that a search does not enter."""
    parts = path[len(folder) :].strip("/").split("/")[:-1]
    return any(map(is_skipped, parts))


# A scan: the models that are not done yet, each in a process, their rows written part by part.


if TYPE_CHECKING:
    Doing = Callable[[deque[Task]], Iterator[tuple[Task, Any]]]

LONGEST = 60.0
"""Seconds after which a part is written although more models would fit in it."""


def in_processes(size: int) -> Doing:
    """Do tasks in so many processes of this machine."""

    def doing(tasks: deque[Task]) -> Iterator[tuple[Task, Any]]:
        with team(size) as workers:
            yield from each_done(workers, tasks)

    return doing


def scan(
    jobs: list[ScanJob], doing: Doing, parts: PartFolder, batch: int, done: Callable[[str], None] = lambda _url: None
) -> Counter[str]:
    """Scan the models and write a part for each `batch` of them, or each minute; how many have which status.

    What is finished is written also where the scan is interrupted. `done` is called with each model's URL.
    """
    statuses: Counter[str] = Counter()
    waiting: list[tuple[ScanRow, ...]] = []
    last = time.monotonic()
    tasks = deque(Task(scan_model, job, job.url) for job in jobs)
    try:
        for task, answer in doing(tasks):
            rows = _rows(task, answer)
            waiting.append(rows)
            statuses[rows[0].status] += 1
            done(task.label)
            if len(waiting) >= batch or time.monotonic() - last > LONGEST:
                _write(parts, waiting)
                last = time.monotonic()
    finally:
        _write(parts, waiting)
    return statuses


def _rows(task: Task, answer: Any) -> tuple[ScanRow, ...]:
    """The rows of a model, also of one that ended its process."""
    if isinstance(answer, Ended):
        return (ScanRow(FILE, task.label, CRASHED, message=f"its process ended {answer.how}"),)
    rows: tuple[ScanRow, ...] = answer
    return rows


def _write(parts: PartFolder, waiting: list[tuple[ScanRow, ...]]) -> None:
    """Write and forget the rows of the models that wait for it."""
    if waiting:
        parts.add([row for rows in waiting for row in rows])
        waiting.clear()
