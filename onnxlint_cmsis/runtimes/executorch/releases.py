"""Which releases of ExecuTorch made a program, by its operators and the number of their arguments."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING

from onnxlint_cmsis.formats.format import RELEASES
from onnxlint_cmsis.formats.pte.names import BACKEND, SIGNATURES, signature_of
from onnxlint_cmsis.runtimes.executorch.calls import FOUR_SINCE
from onnxlint_cmsis.runtimes.runtime import EXECUTORCH_RELEASES, Runtime

if TYPE_CHECKING:
    from onnxlint_cmsis.formats.pte.calls import ProgramCall
    from onnxlint_cmsis.formats.pte.to_graph import LoadedProgram


def release_on(day: str) -> str:
    """Release of a day, a key of RELEASES."""
    return next(name for name, known in RELEASES.items() if known == day)


def spanned(since: str, until: str) -> str:
    """`1.1.0 to 1.3.1`, `1.4.0 and newer` or `1.4.0` for the releases from one to the one before another."""
    if not until:
        return f"{since} and newer"
    names = [*RELEASES]
    last = names[names.index(until) - 1]
    return since if last == since else f"{since} to {last}"


def misfit(call: ProgramCall, day: str) -> str | None:
    """Why the release of a day does not run an operator of the backend with these arguments, as a clause.

    None where it does, and for an operator or a number of arguments that no reviewed release has.
    """
    signature = signature_of(call.op, call.given)
    if signature is None or signature.holds(day):
        return None
    own = next((row for row in SIGNATURES[call.op] if row.holds(day)), None)
    if own is None:
        rows = SIGNATURES[call.op]
        known = spanned(rows[0].since, rows[-1].until)
        return f"{call.op} is an operator of ExecuTorch {known}; {release_on(day)} has none of this name"
    release = spanned(signature.since, signature.until)
    return (
        f"it has {call.given} arguments, as in ExecuTorch {release}; {release_on(day)} takes {len(own.names)}, and its "
        "wrapper answers InvalidProgram"
    )


def is_missing(op: str, day: str) -> bool:
    """Tell whether the release of a day has no operator of this name in the backend."""
    return not any(row.holds(day) for row in SIGNATURES[op])


def makers(loaded: LoadedProgram) -> tuple[str, ...]:
    """Releases that have every operator of the backend in a program with as many arguments, oldest first."""
    calls = [call for call in loaded.calls if call.step.kind == "KernelCall" and call.op.startswith(BACKEND)]
    return tuple(name for name, day in RELEASES.items() if all(_fits(calls, day)))


def _fits(calls: list[ProgramCall], day: str) -> Iterator[bool]:
    for call in calls:
        signature = signature_of(call.op, call.given)
        four = len(call.numbers_of("padding")) == 4
        yield signature is not None and signature.holds(day) and (not four or day >= RELEASES[FOUR_SINCE])


def revision_for(loaded: LoadedProgram, runtime: Runtime) -> Runtime:
    """The revision that a program is judged for where none was asked for: of those that made it the nearest in time.

    Revisions with another CMSIS-NN than the usual one are left out where targets name that one.
    """
    names = makers(loaded) if runtime.by_file else ()
    known = [EXECUTORCH_RELEASES[name] for name in names if name in EXECUTORCH_RELEASES]
    fitting = [row for row in known if row.release == runtime.release or not runtime.brings]
    if not fitting or release_on(runtime.since) in names:
        return runtime
    usual = date.fromisoformat(runtime.since)
    nearest = min(fitting, key=lambda row: abs(date.fromisoformat(row.since) - usual))
    return nearest._replace(brings=runtime.brings, asked=runtime.asked)
