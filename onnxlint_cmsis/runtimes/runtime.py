"""Runtimes that call CMSIS-NN: which revision, and which CMSIS-NN it brings."""

from __future__ import annotations

from onnxlint_cmsis.errors import did_you_mean
from onnxlint_cmsis.named_tuples import NamedTuple
from onnxlint_cmsis.types import Target

AUTO = "auto"
"""Word for the usual runtime of a file's format."""


class Runtime(NamedTuple):
    """One revision of one runtime, or the application that calls the functions itself."""

    name: str
    """`direct`, `tflm`, `executorch` or `tvm`; `auto` until the file is known."""
    title: str = ""
    """Name in messages."""
    commit: str = ""
    """Last commit that was reviewed; empty for `direct`."""
    since: str = ""
    """Day from which it holds, ISO 8601."""
    until: str = ""
    """Day on which the runtime gave CMSIS-NN up; empty where it did not."""
    cmsis_nn: str = ""
    """CMSIS-NN that its build downloads, by commit or release; empty for none."""
    release: str = ""
    """Release whose rows answer for that library; empty for none."""
    older: tuple[tuple[str, str], ...] = ()
    """Entry points with the kernels of an older release, and that release."""
    ran: bool = True
    """Whether its kernels were run; False where its source was read alone, so that findings say "may"."""
    reads_tflite: bool = True
    """Whether what it makes of a `.tflite` file was reviewed."""
    brings: bool = True
    """False where the user names another CMSIS-NN release than the one it brings."""
    asked: str = ""
    """Label of the runtime that was asked for, where a file is judged for this one in its place."""

    @property
    def judges(self) -> bool:
        """Whether a runtime stands between the model and CMSIS-NN."""
        return self.name not in (DIRECT.name, AUTO)

    @property
    def label(self) -> str:
        """`tflm@90b983c2`, or the name alone."""
        return f"{self.name}@{self.commit[:8]}" if self.commit else self.name

    def library(self, entry: str, target: Target) -> Target:
        """Target whose kernels an entry point has: the library it brings may be behind the release in some."""
        older = dict(self.older).get(entry)
        return target._replace(release=older) if older and self.brings and target.release == self.release else target


DIRECT = Runtime("direct")
"""The application calls the functions as their wrappers want."""
_TRANSPOSE_CONV_BEHIND = (("transpose_conv_s8", "7.0.0"),)
"""What libraries before CMSIS-NN's pull request 233 are behind `main` in (git diff of Source and Include)."""

EXECUTORCH = Runtime(
    "executorch",
    "ExecuTorch",
    "cff6f4dd",
    "2026-08-22",
    cmsis_nn="dbf45dbf",
    release="main",
    older=_TRANSPOSE_CONV_BEHIND,
    ran=False,
)
TVM = Runtime(
    "tvm",
    "TVM",
    "513c2be0",
    "2024-10-12",
    until="2024-12-10",
    cmsis_nn="CMSIS_5 5.9.0",
    release="cmsis5-5.9.0",
    ran=False,
)
"""The parent of f717c565, which removed the CMSIS-NN partitioner; TVM 0.18.0 is the last release that has it."""
REVIEWED = {"executorch": EXECUTORCH, "tvm": TVM}
TFLM = "tflm"
NAMES = (DIRECT.name, TFLM, *REVIEWED)


def runtime_of(text: str) -> Runtime:
    """The runtime that `auto`, a name, or a name with `@` and a commit or date (`tflm@2026-06`) stands for.

    Raises:
        ValueError: there is no such runtime, or that revision has not been reviewed.

    """
    name, at, version = text.strip().partition("@")
    if name in (AUTO, DIRECT.name):
        if at:
            raise ValueError(f"'{text}': {name} has no revisions")
        return DIRECT if name == DIRECT.name else Runtime(AUTO)
    if name not in NAMES:
        hint = did_you_mean(name, NAMES)
        with_version = "" if hint.endswith("?") else ", with @ and a commit or date"
        raise ValueError(f"runtime '{text}' is not known{hint}{with_version}")
    if at and not version:
        raise ValueError(f"'{text}': a commit or date has to follow the @")
    if name == TFLM:
        return _tflm(version)
    return _reviewed(REVIEWED[name], version)


def runtime_for(runtime: Runtime, *, tflite: bool) -> Runtime:
    """The runtime that a file is judged for: of those reviewed, TensorFlow Lite Micro alone reads `.tflite`.

    Raises:
        ValueError: the memory layout of `.tflite` files has not been reviewed for the revision.

    """
    if tflite:
        chosen = runtime
        if runtime.name != TFLM:
            chosen = _tflm("")._replace(asked=runtime.label if runtime.name != AUTO else "")
        if not chosen.reads_tflite:
            raise ValueError(
                f"{chosen.label} judges no .tflite file: how {chosen.title} lays one out has been reviewed for "
                "revisions since 2026-05-21"
            )
        return chosen
    return DIRECT if runtime.name == AUTO else runtime


def runtime_notes(runtime: Runtime, *, converted: bool = False, open_codes: str = "") -> tuple[str, ...]:
    """What a file was judged for; nothing where the application calls the functions itself.

    `converted` tells whether the file becomes another one before the runtime sees it; `open_codes` are the codes of
    findings that hold only if the converter writes what is expected.
    """
    if not runtime.judges:
        return ()
    library = f"the CMSIS-NN {_brought(runtime)}" if runtime.brings else "the CMSIS-NN release asked for"
    which = f", on {open_codes} before all" if open_codes else ""
    between = f" What the converter writes decides{which}: lint the .tflite file to be certain." if converted else ""
    how = "" if runtime.ran else f" {runtime.title}'s source was read, not run: findings say what it may do."
    found = f"Judged for {runtime.title} {runtime.commit[:8]} (since {runtime.since}) with {library}.{how}{between}"
    if not runtime.asked:
        return (found,)
    return (
        found,
        f"Not judged for {runtime.asked}, which was asked for: .tflite files are judged for {runtime.name} alone.",
    )


def _brought(runtime: Runtime) -> str:
    """`4ab83cc3 that it brings: main, with transpose_conv_s8 of 7.0.0`, so that the release in labels is explained."""
    behind: dict[str, list[str]] = {}
    for entry, release in runtime.older:
        behind.setdefault(release, []).append(entry)
    parts = [f"{', '.join(entries)} of {release}" for release, entries in behind.items()]
    kernels = f", with {' and '.join(parts)}" if parts else ""
    return f"{runtime.cmsis_nn} that it brings: {runtime.release}{kernels}"


def _tflm(version: str) -> Runtime:
    from onnxlint_cmsis.runtimes.tflm.revisions import reviewed_revision

    found = reviewed_revision(version)
    return Runtime(
        TFLM,
        "TensorFlow Lite Micro",
        found.commit,
        found.since,
        cmsis_nn=found.cmsis_nn[:8],
        release=found.release,
        older=found.older,
        reads_tflite=bool(found.layout),
    )


def _reviewed(runtime: Runtime, version: str) -> Runtime:
    """The reviewed revision, if the version is its commit or a date from its day on."""
    from onnxlint_cmsis.runtimes.tflm.revisions import DATE

    if DATE.fullmatch(version):
        gone = runtime.until and runtime.until[: len(version)] <= version
        if gone:
            raise ValueError(f"{runtime.title} has had no CMSIS-NN since {runtime.until}")
        fits = runtime.since[: len(version)] <= version
    else:
        fits = runtime.commit.startswith(version.lower()) or version.lower().startswith(runtime.commit)
    if version and not fits:
        reviewed = f"{runtime.commit} (since {runtime.since})"
        raise ValueError(f"{runtime.title} '{version}' has not been reviewed; reviewed: {reviewed}")
    return runtime
