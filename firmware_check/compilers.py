"""Compilers that the firmware can be built with, and what each is known to get wrong."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from firmware_check.errors import FirmwareError
from onnxlint_cmsis.checks.rule_registry import check_of_kind
from onnxlint_cmsis.checks.rules import runtime_stops, runtime_wrong
from onnxlint_cmsis.lower.outcome import Outcome

if TYPE_CHECKING:
    from onnxlint_cmsis.checks.rule import Rule
    from onnxlint_cmsis.cmsis_nn.hazard import Hazard
    from onnxlint_cmsis.cmsis_nn.library import Route
    from onnxlint_cmsis.ground.types import Target
    from onnxlint_cmsis.runtimes.executorch.plan import Plan


# The compilers that CMSIS-NN is compiled with: one row each. The harness and the calls are always gcc's.


class CompilerRow(NamedTuple):
    """One compiler."""

    name: str
    """What `--compiler` calls it, and CMSIS-NN's branch for compilers other than armclang is taken."""
    programs: tuple[str, ...]
    """Programs that are it; the first one on the PATH is taken."""
    package: str
    """Debian's package."""
    flags: tuple[str, ...]
    """Flags of every file of CMSIS-NN with functions for integers."""
    trace: tuple[str, ...]
    """Flags that call a hook at entry and exit of each function, static ones too, but not of inline ones in headers."""
    rescue: tuple[str, ...] = ()
    """Flags to try again with where the compiler ends with an internal error."""
    rescued: str = ""
    """What these flags leave out, for the report."""
    assembly: bool = True
    """Whether it compiles CMSIS-NN's inline assembly; else ARM_MATH_AUTOVECTORIZE takes the C code beside it."""
    float_flags: tuple[str, ...] = ()
    """Flags of every file where functions for f32 and f16 are called."""

    def for_floats(self) -> CompilerRow:
        """The row for functions for f32 and f16, whose inline assembly every compiler takes."""
        return self._replace(flags=self.float_flags, assembly=True)


GCC = CompilerRow(
    "gcc",
    ("arm-none-eabi-gcc",),
    "gcc-arm-none-eabi",
    (),
    ("-finstrument-functions", "-finstrument-functions-exclude-file-list=Include/,arm-none-eabi/,gcc/"),
    ("-fdisable-rtl-combine",),
    "its combine pass (-fdisable-rtl-combine)",
    float_flags=("-mfp16-format=ieee",),
)
# The inline assembly for MVE (7.0.0, arm_nn_mat_mult_nt_t_s8.c:100-128) writes outputs before it has read its inputs
# and does not say so ("=Te" without &): clang gives both one register. ARM_MATH_AUTOVECTORIZE takes the C code instead.
# The calls are gcc's, whose enumerations take as few bytes as they need: parameters hold some.
CLANG = CompilerRow(
    "clang",
    (*(f"clang-{version}" for version in range(22, 13, -1)), "clang"),
    "clang-16",
    ("--target=arm-none-eabi", "-fshort-enums", "-DARM_MATH_AUTOVECTORIZE"),
    ("-finstrument-functions-after-inlining", "-fno-inline"),
    assembly=False,
    float_flags=("--target=arm-none-eabi", "-fshort-enums"),
)
COMPILERS = (GCC, CLANG)
"""Compilers in the order in which they are shown."""

_VERSION = re.compile(r"\b(\d+\.\d+\.\d+)\b")
_HEADER = "string.h"
_PATIENCE = 30
"""Seconds for a compiler to say what it is."""


def compiler_named(name: str) -> CompilerRow:
    """The row of a compiler; FirmwareError for another name."""
    for row in COMPILERS:
        if row.name == name:
            return row
    raise FirmwareError(f"compiler '{name}' is not known; allowed: {', '.join(row.name for row in COMPILERS)}")


@cache
def program_of(row: CompilerRow) -> str:
    """Path of a compiler; FirmwareError says what to install."""
    path = next(filter(None, map(shutil.which, row.programs)), None)
    if path is None:
        program = row.programs[-1]
        raise FirmwareError(f"{program} is not on the PATH; install it (Debian, Ubuntu: apt-get install {row.package})")
    return path


@cache
def version_of(row: CompilerRow) -> str:
    """First line of what a compiler says of its version; FirmwareError where it says none."""
    said = _said_by([program_of(row), "--version"]).stdout.strip()
    if not said:
        raise FirmwareError(f"{program_of(row)} --version says nothing: a broken compiler?")
    return said.splitlines()[0]


def _said_by(command: list[str]) -> subprocess.CompletedProcess[str]:
    """What a compiler says of itself; FirmwareError where it cannot be started, fails or takes too long."""
    try:
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=True, stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        reason = f"did not end within {_PATIENCE} s"
    except subprocess.CalledProcessError as error:
        said = f": {error.stderr.strip().splitlines()[0]}" if error.stderr.strip() else ""
        reason = f"ends with exit code {error.returncode}{said}"
    except OSError as error:
        reason = f"cannot be started: {error.strerror}"
    raise FirmwareError(f"{' '.join(command)} {reason}; a broken compiler?")


def label_of(row: CompilerRow) -> str:
    """Name and version for reports: `gcc 12.2.1`."""
    versions = _VERSION.findall(version_of(row))
    return f"{row.name} {versions[-1] if row is GCC else versions[0]}" if versions else row.name


@cache
def headers_of(row: CompilerRow) -> tuple[str, ...]:
    """Flags that show a compiler newlib's headers; FirmwareError where they are missing. gcc brings its own."""
    if row is GCC:
        return ()
    for folder in _header_folders():
        if (folder / _HEADER).is_file():
            return ("-isystem", str(folder))
    raise FirmwareError(
        f"{row.name} needs newlib's headers; install them (Debian, Ubuntu: apt-get install libnewlib-arm-none-eabi)"
    )


def _header_folders() -> list[Path]:
    """Folders that gcc looks for headers in, the C library's last."""
    gcc = shutil.which(GCC.programs[0])
    said = _said_by([gcc, "-xc", "-E", "-v", os.devnull]).stderr if gcc else ""
    searched = [Path(line.strip()) for line in said.splitlines() if line.startswith(" /")]
    return [*reversed(searched), Path("/usr/include/newlib"), Path("/usr/lib/arm-none-eabi/include")]


# Hazards that were predicted, held against what the device did: a defect that occurs is no disagreement.


SHOWS = {
    "returns-error": ("status",),
    "wrong-result": ("wrong",),
    "overrun": ("damage", "wrong"),
    "inexact": ("wrong",),
    "too-large": ("wrong", "damage", "status"),
}
"""Kind of a hazard to what of the trouble it explains."""
SURE = ("returns-error", "wrong-result", "overrun")
"""Kinds whose effect is seen on every input."""


class Trouble(NamedTuple):
    """What went wrong in one layer."""

    status: int
    """Status returned, 0 for success."""
    wrong: tuple[str, ...]
    """What is said of its values."""
    damage: tuple[str, ...]
    """What is said of the guards around its memory."""

    def of(self, hazard: Hazard) -> list[str]:
        """The part that a hazard explains; after an error, values too."""
        return self.shown(hazard.kind)

    def shown(self, kind: str) -> list[str]:
        """The part that a kind of hazard explains."""
        said = [*([f"status {self.status}"] if self.status else []), *self.damage, *self.wrong]
        return said if any(getattr(self, name) for name in SHOWS[kind]) else []


def code_of(hazard: Hazard) -> str:
    """Code of the linter's rule that reports a hazard."""
    return check_of_kind(hazard.kind).rule.code


def known_defects(predicted: Route | None, trouble: Trouble) -> Iterator[tuple[str, str]]:
    """Code of the rule, and what was seen of each hazard that was predicted."""
    for hazard in (*predicted.hazards, *predicted.inexact) if predicted else ():
        said = trouble.of(hazard)
        if said:
            whose = "compiler" if hazard.compiler else "release"
            yield code_of(hazard), f"{'; '.join(said)}; a known defect of this {whose}: {hazard.id}"


def unseen(predicted: Route | None, trouble: Trouble, target: Target, assembly: bool = True) -> Iterator[str]:
    """What is said of hazards whose effect did not occur; without `assembly` none of inline assembly can."""
    for hazard in predicted.hazards if predicted else ():
        sure = hazard.kind in SURE and hazard.on(target)
        if sure and (assembly or not hazard.assembly) and not trouble.of(hazard):
            yield f"predicted {hazard.id} ({code_of(hazard)}), whose effect was not seen"


# A plan for another core, of a program that holds its calls as they are made.


PLAN_KINDS: Mapping[Outcome, tuple[Rule, str]] = {
    Outcome.REFUSED: (runtime_stops.RULE, "returns-error"),
    Outcome.WRONG: (runtime_wrong.RULE, "overrun"),
    Outcome.UNDECIDED: (runtime_wrong.RULE, "too-large"),
}
"""What becomes of a call for its plan, to the rule that says so and the kind of hazard that shows the same."""


def defects_of_plan(plan: Plan | None, trouble: Trouble) -> Iterator[tuple[str, str]]:
    """Code of the rule with its cause, and what was seen of a plan for another core."""
    if plan is not None and plan.verdict is not None and plan.verdict in PLAN_KINDS:
        rule, kind = PLAN_KINDS[plan.verdict]
        if said := trouble.shown(kind):
            yield f"{rule.code}[{plan.cause}]", f"{'; '.join(said)}; as predicted: {plan.reason}"


def unseen_of_plan(plan: Plan | None, trouble: Trouble) -> Iterator[str]:
    """What is said of a plan whose effect did not occur; one that may have none says nothing."""
    if plan is not None and plan.verdict in (Outcome.REFUSED, Outcome.WRONG):
        rule, kind = PLAN_KINDS[plan.verdict]
        if not trouble.shown(kind):
            yield f"predicted {rule.code}[{plan.cause}], whose effect was not seen: {plan.reason}"
