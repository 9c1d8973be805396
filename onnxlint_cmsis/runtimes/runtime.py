"""Runtimes that call CMSIS-NN: which revision, and which CMSIS-NN it brings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.format import RELEASES, Format, format_read_by
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.ground.words import did_you_mean

if TYPE_CHECKING:
    pass

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
    unread: bool = False
    """Whether its kernels and its CMSIS-NN were not read: those of the revision that was read answer for them."""
    unreleased: tuple[str, ...] = ()
    """Entry points whose kernels in the library it brings are those of no release, and are not judged."""
    brings: bool = True
    """False where the user names another CMSIS-NN release than the one it brings."""
    asked: str = ""
    """Label of the runtime that was asked for, where a file is judged for this one in its place."""
    by_file: bool = False
    """Whether a file that only other revisions run decides on the revision, as none was asked for."""

    @property
    def judges(self) -> bool:
        """Tell whether a runtime stands between the model and CMSIS-NN."""
        return self.name not in (DIRECT.name, AUTO)

    @property
    def reads_tflite(self) -> bool:
        """Tell if TensorFlow Lite's converter writes what it reads: padding that is not SAME becomes a PAD there."""
        return self.name == TFLM

    @property
    def label(self) -> str:
        """`tflm@90b983c2`, or the name alone."""
        return f"{self.name}@{self.commit[:8]}" if self.commit else self.name

    @property
    def behind(self) -> dict[str, list[str]]:
        """Entry points that do not have the kernels of its release, by the release that they have."""
        entries: dict[str, list[str]] = {}
        for entry, release in (*self.older, *((entry, "no release") for entry in self.unreleased)):
            entries.setdefault(release, []).append(entry)
        return entries

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
    RELEASES["cff6f4dd"],
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
EXECUTORCH_RELEASES = {
    name: row._replace(since=RELEASES[name])
    for name, row in {
        "1.6.0": EXECUTORCH._replace(commit="1.6.0", cmsis_nn="8.0.0", older=(), unread=True),
        "1.5.1": EXECUTORCH._replace(commit="3b606839", cmsis_nn="8.0.0", older=(), unread=True),
        "1.4.1": EXECUTORCH._replace(commit="e4d02f41"),
        "1.4.0": EXECUTORCH._replace(commit="3dd7ccd1"),
        "1.3.1": EXECUTORCH._replace(commit="e2f18eb2", cmsis_nn="d933672e"),
        "1.3.0": EXECUTORCH._replace(commit="3a97429b", cmsis_nn="d933672e"),
        "1.2.0": EXECUTORCH._replace(commit="0b0e2c5c", cmsis_nn="7.0.0", release="7.0.0", older=()),
        "1.1.0": EXECUTORCH._replace(commit="17adba19", cmsis_nn="7.0.0", release="7.0.0", older=()),
        "1.0.1": EXECUTORCH._replace(commit="7b220c6f", cmsis_nn="4.1.0", release="4.1.0", older=()),
    }.items()
}
"""Releases that were compared with that revision: operators, passes and quantizer of each, and the pin of CMSIS-NN.

What kernels look at and hand over is in executorch/kernels.py, release by release. CMSIS-NN d933672e differs from
dbf45dbf in functions for f32 and f16, in the LSTM, and in single rounding, which a build has to ask for (git diff of
Source and Include).

The Python part alone of 1.5.1 was read. Its tests of transposed convolutions expect no failure any more, which came
with CMSIS-NN 8.0.0 (pull request 22719); its sources were not compared with those of `main`. Of 1.6.0, not released on
that day, the description of pull request 22861 alone was read: padding of four numbers.
"""
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
    if name == EXECUTORCH.name and not version:
        return EXECUTORCH._replace(by_file=True)
    if name == EXECUTORCH.name and version in EXECUTORCH_RELEASES:
        return EXECUTORCH_RELEASES[version]
    return _reviewed(REVIEWED[name], version)


def runtime_for(runtime: Runtime, form: Format) -> Runtime:
    """The runtime that files of a format are judged for: the one that reads them, if any does."""
    if not form.interpreter:
        return DIRECT if runtime.name == AUTO else runtime
    if runtime.name == form.interpreter:
        return runtime
    return runtime_of(form.interpreter)._replace(asked=runtime.label if runtime.name != AUTO else "")


def runtime_notes(runtime: Runtime, form: Format | None = None, open_codes: str = "") -> tuple[str, ...]:
    """What a file was judged for; nothing where the application calls the functions itself.

    Of a file of the format `form` it tells if a converter makes another one of it, which the runtime reads;
    `open_codes` are the codes of findings that hold only if the converter writes what is expected.
    """
    if not runtime.judges:
        return ()
    own = format_read_by(runtime.name)
    library = f"the CMSIS-NN {_brought(runtime)}" if runtime.brings else "the CMSIS-NN release asked for"
    which = f", above all for {open_codes}" if open_codes else ""
    between = ""
    if form and own and own.name != form.name:
        between = f" What the converter writes decides{which}: lint the {own.suffix} file to be certain."
    how = "" if runtime.ran else f" {runtime.title}'s source was read, not run: findings say what it may do."
    if runtime.unread:
        which = "Its kernels and that CMSIS-NN" if runtime.brings else "Its kernels"
        read = f"{EXECUTORCH.commit}{f' and {runtime.release}' if runtime.brings else ''}"
        how = f" {which} were not read: those of {read} are judged in their place, and findings say what may happen."
    judged = f"Judged for {runtime.title} {runtime.commit[:8]} (since {runtime.since}) with {library}.{how}{between}"
    if not runtime.asked or own is None:
        return (judged,)
    return (
        judged,
        f"Not judged for {runtime.asked}, which was asked for: {own.suffix} files are judged for {runtime.name} alone.",
    )


def _brought(runtime: Runtime) -> str:
    """`4ab83cc3 that it brings: main, with transpose_conv_s8 of 7.0.0`, so that the release in labels is explained."""
    parts = [f"{', '.join(entries)} of {release}" for release, entries in runtime.behind.items()]
    kernels = f", with {' and '.join(parts)}" if parts else ""
    return f"{runtime.cmsis_nn} that it brings: {runtime.release}{kernels}"


def _tflm(version: str) -> Runtime:
    from onnxlint_cmsis.runtimes.tflm.revisions import reviewed_revision

    revision = reviewed_revision(version)
    return Runtime(
        TFLM,
        "TensorFlow Lite Micro",
        revision.commit,
        revision.since,
        cmsis_nn=revision.cmsis_nn[:8],
        release=revision.release,
        older=revision.older,
        unreleased=revision.unreleased,
    )


def _reviewed(runtime: Runtime, version: str) -> Runtime:
    """The reviewed revision, if the version is its commit or a date from its day on."""
    from onnxlint_cmsis.runtimes.tflm.revisions import DATE

    if re.fullmatch(DATE, version):
        gone = runtime.until and runtime.until[: len(version)] <= version
        if gone:
            raise ValueError(f"{runtime.title} has had no CMSIS-NN since {runtime.until}")
        fits = runtime.since[: len(version)] <= version
    else:
        fits = runtime.commit.startswith(version.lower()) or version.lower().startswith(runtime.commit)
    if version and not fits:
        releases = EXECUTORCH_RELEASES if runtime.name == EXECUTORCH.name else ()
        reviewed = ", ".join((f"{runtime.commit} (since {runtime.since})", *releases))
        raise ValueError(f"{runtime.title} '{version}' has not been reviewed; reviewed: {reviewed}")
    return runtime
