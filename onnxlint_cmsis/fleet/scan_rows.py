"""The rows of a scan: the columns of its Parquet files, for files and for findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.cli.api import FileResult, TargetSummary
    from onnxlint_cmsis.ground.findings import Finding


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
