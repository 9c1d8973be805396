"""The rows that tables of the knowledge base are made of. Each names the C source it was read from."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition
from onnxlint_cmsis.cmsis_nn.releases import REVIEWED, distance, holds, older
from onnxlint_cmsis.cmsis_nn.terms import Term, Values, shown, term
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, Source, Target

CONVOLUTION = "Source/ConvolutionFunctions/"
ALL_ISAS = (Isa.SCALAR, Isa.DSP, Isa.MVE)
NOT_MVE = (Isa.SCALAR, Isa.DSP)
MVE_ONLY = (Isa.MVE,)


class Origin(NamedTuple):
    """Where in the C source a row was read, and for which builds it holds."""

    file: str
    """Path inside the CMSIS-NN repository; CMSIS 5 has it under CMSIS/NN/."""
    function: str
    """C function or macro."""
    lines: Mapping[str, int]
    """Release -> first line of the statement there, oldest first; 0 where only the function was recorded.

    The first release is the one since which the row holds. Later ones need not be named.
    """
    isas: tuple[Isa, ...] = ALL_ISAS
    """Instruction-set classes whose code has it."""
    compilers: tuple[str, ...] = ("gcc", "armclang")
    """Compilers, as the source tells them apart, whose code has it."""
    until: str = ""
    """First release without it; empty where the newest has it."""
    specialized: bool = False
    """Whether NN_DISABLE_SPECIALIZATION leaves it out."""

    @property
    def since(self) -> str:
        """First release with it."""
        return next(iter(self.lines))

    def covers(self, target: Target) -> bool:
        """Tell whether a build for the target has the statement. ValueError for a release without a review."""
        branch = "armclang" if target.compiler == "armclang" else "gcc"
        built = target.isa in self.isas and branch in self.compilers and (target.specialized or not self.specialized)
        return built and self.spans(target.release)

    def spans(self, release: str) -> bool:
        """Tell whether a release has the statement. ValueError for a release without a review."""
        return holds(self.since, self.until, release)

    def source(self, release: str) -> Source:
        """The statement's place in a release; where no line was read there, in the nearest older one with a line."""
        read = next((name for name in older(release) if self.lines.get(name)), release)
        prefix = "CMSIS/NN/" if read.startswith("cmsis5-") else ""
        return Source(read, prefix + self.file, self.function, self.lines.get(read, 0))


def kernel_at(kernel: str, lines: Mapping[str, int], isas: tuple[Isa, ...] = ALL_ISAS, until: str = "") -> Origin:
    """A place in a convolution's function, whose file has its name."""
    return Origin(f"{CONVOLUTION}{kernel}.c", kernel, lines, isas, until=until)


class OuterTest(NamedTuple):
    """An `if` of the C source that a branch needs and that stands on another line than the branch."""

    when: Condition
    """What it asks."""
    lines: Mapping[str, int]
    """Release -> its line, as in Origin."""


class Branch(NamedTuple):
    """One way out of a wrapper's else-if chain."""

    kernel: str
    """C function called; of another wrapper the kernel is that wrapper's own choice."""
    when: Condition
    """Condition of the branch; TRUE for the last `else`."""
    origin: Origin
    """Where it was read."""
    entry: str = ""
    """Entry point whose wrapper is called instead of a kernel (`convolve_s8`), if any."""
    binds: tuple[tuple[str, Term], ...] = ()
    """Variables that the callee sees under other values, in terms of the caller's: (`filter_dims.n`, filter_dims.c)."""
    tests: tuple[OuterTest, ...] = ()
    """Parts of the condition that stand elsewhere; the origin has the line of the rest."""

    def place_of(self, failed: Condition) -> Origin:
        """Where a part of the condition stands."""
        lines = next((test.lines for test in self.tests if failed in (test.when, *test.when.parts)), self.origin.lines)
        return self.origin._replace(lines=lines)


class Limit(NamedTuple):
    """What every function behind an entry point asks of a call, beside the choice between them."""

    when: Condition
    """What is allowed."""
    words: str
    """Message where it fails; `{input_dims.h}` stands for the size of the call."""

    def failure(self, values: Values) -> str | None:
        """The words with the call's sizes; None where the limit holds or an unknown size leaves it open."""
        if self.when.evaluate(values) is not False:
            return None
        text = self.words
        for name in self.when.names():
            text = text.replace(f"{{{name}}}", shown(values.get(name)))
        return text


class Wrapper(NamedTuple):
    """One entry point: its branches in the order of the C source, over all releases."""

    entry: str
    """Entry point without `arm_` and `_wrapper`: `convolve_s8`."""
    function: str
    """C function of the newest release."""
    branches: tuple[Branch, ...]
    """In source order; those of one target are taken first match first."""
    sizes: tuple[ScratchSize, ...]
    """Scratch sizes, first match first."""
    reverse_sizes: tuple[ScratchSize, ...] = ()
    """Sizes of the second context (`reverse_conv_ctx`), first match first; none for entry points without one."""
    params: str = "conv_params"
    """Name of the C parameter struct, for C text."""
    absent: str = ""
    """Message for releases without the entry point."""
    uses: tuple[tuple[str, Term], ...] | None = None
    """Functions that touch the buffer, each with the bytes it takes at most; None where all that is asked is taken."""
    limits: tuple[Limit, ...] = ()
    """Why no branch of a release that has the entry point takes a call; the first that fails says it."""

    def branches_for(self, target: Target) -> tuple[Branch, ...]:
        """The branches that a build for the target has, in order."""
        return tuple(branch for branch in self.branches if branch.origin.covers(target))

    def source_near(self, release: str) -> Source | None:
        """Where the release nearest to one has the entry point; None where none has it."""
        having = {name: row.origin for name in REVIEWED for row in self.branches if row.origin.spans(name)}
        nearest = min(having, key=lambda name: distance(name, release), default=None)
        return having[nearest].source(nearest) if nearest else None


class Delegation(NamedTuple):
    """A kernel that hands the work to another function."""

    kernel: str
    """C function that is called."""
    callee: str
    """C function that it calls to do the work."""
    origin: Origin
    """Where it was read."""
    when: Condition = TRUE
    """Condition of the call."""
    static: bool = False
    """Whether the callee is a static function, part of the effective kernel but not of the chain of public ones."""


class ScratchSize(NamedTuple):
    """One case of a scratch-size function."""

    size: Term
    """Bytes."""
    origin: Origin
    """Function it was read from."""
    when: Condition = TRUE
    """Condition of the case."""


DSP_ONLY = (Isa.DSP,)


def within(
    function: str,
    since: str,
    isas: tuple[Isa, ...] = ALL_ISAS,
    compilers: tuple[str, ...] = ("gcc", "armclang"),
    until: str = "",
) -> Origin:
    """A size function from `since` to before `until`, in some builds; its lines were not recorded."""
    return Origin(CONVOLUTION, function, {since: 0}, isas, compilers, until)


def size(number: Term | int, origin: Origin, when: Condition = TRUE) -> ScratchSize:
    """One case: so many bytes when the condition holds."""
    return ScratchSize(term(number), origin, when)
