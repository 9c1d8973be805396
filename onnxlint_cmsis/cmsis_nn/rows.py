"""The rows that tables of the knowledge base are made of. Each names the C source it was read from."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor, log10

from onnxlint_cmsis.cmsis_nn.conditions import TRUE, Condition, Term, Values, not_, shown, term
from onnxlint_cmsis.cmsis_nn.releases import REVIEWED, distance, holds, older
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, Source, Target

CONVOLUTION = "Source/ConvolutionFunctions/"
ALL_ISAS = (Isa.SCALAR, Isa.DSP, Isa.MVE)
NOT_MVE = (Isa.SCALAR, Isa.DSP)
MVE_ONLY = (Isa.MVE,)


RETRAIN = "changes what the layer computes: retrain the model"
"""What is said of advice that is no exact rewrite, behind a subject."""


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
        """Whether a build for the target has the statement. ValueError for a release without a review."""
        branch = "armclang" if target.compiler == "armclang" else "gcc"
        built = target.isa in self.isas and branch in self.compilers and (target.specialized or not self.specialized)
        return built and self.spans(target.release)

    def spans(self, release: str) -> bool:
        """Whether a release has the statement. ValueError for a release without a review."""
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

    def failure(self, values: Values) -> str:
        """The words with the call's sizes; empty where the limit holds or an unknown size leaves it open."""
        if self.when.evaluate(values) is not False:
            return ""
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


# What some versions of compilers make of the source, where the source is right.


class CompilerDefect(NamedTuple):
    """What versions of a compiler make of functions whose source is right."""

    id: str
    """Stable name in kebab case."""
    compiler: str
    """Compiler, `gcc`."""
    first: tuple[int, ...]
    """First version that may do it; empty where nothing is known of old ones."""
    seen: tuple[int, ...]
    """Version that was seen to do it: (12, 2) stands for 12.2 and what follows the second number."""
    right: tuple[int, ...]
    """First version without it."""
    functions: tuple[str, ...]
    """Public functions of CMSIS-NN that it changes."""
    isas: tuple[Isa, ...]
    """Instruction sets of the builds that it changes."""
    since: str
    """First release with the code that it changes."""
    what: str
    """What the compiler does, as a clause that names it."""

    def changes(self, target: Target) -> bool:
        """Whether a build for the target has the code that it changes, whatever compiles it."""
        return target.isa in self.isas and holds(self.since, "", target.release)

    def hits(self, target: Target) -> bool | None:
        """Whether a target's compiler does it: True for the version seen, None where it may (no version, or another).

        False for another compiler, instruction set or release, and for versions without it.
        """
        if target.compiler != self.compiler or not self.changes(target):
            return False
        version = tuple(int(part) for part in target.compiler_version.split(".") if part)
        if version[: len(self.seen)] == self.seen:
            return True
        without = version and (version < self.first or version >= self.right)
        return False if without else None


CONSTANT_PREDICATES = CompilerDefect(
    "gcc-constant-predicates",
    "gcc",
    (),
    (12, 2),
    (13,),
    ("arm_depthwise_conv_s4_opt",),
    (Isa.MVE,),
    "6.0.0",
    "gcc 12.2 replaces a constant predicate (lower_nibble_mask) by one of all lanes",
)
SCALAR_SOFTMAX = CompilerDefect(
    "gcc-scalar-softmax",
    "gcc",
    (12,),
    (12, 2),
    (12, 3),
    ("arm_softmax_s8",),
    (Isa.MVE,),
    "4.1.0",
    "CMSIS-NN leaves its MVE softmax out for gcc up to 12.2 (ARM_GCC_12_2_ICE), and the scalar one runs",
)
"""Include/Internal/arm_nn_compiler.h: `__GNUC__ == 12 && __GNUC_MINOR__ <= 2`."""


# Hazards.


INEXACT = "inexact"
"""Kind of rows that routes keep apart from hazards: results are right within a known error."""


class Bound(NamedTuple):
    """How far a result may be off, where that is known."""

    number: Term
    """How many errors add up, in the variables the kernel sees."""
    largest: float
    """The largest that a single one can be."""
    words: str = ""
    """What stands behind the number: what it is a share of, `of the mean magnitude`, or what is off by it."""
    share: bool = False
    """Whether it is a share, and no distance."""

    def of(self, values: Values) -> float | None:
        """The bound for a call; None where a size is unknown."""
        number = self.number.evaluate(values)
        return None if number is None else number * self.largest

    def text(self, values: Values) -> str:
        """`0.025`, `51 % of the mean magnitude`, rounded up to two digits; empty where a size is unknown."""
        bound = self.of(values)
        if not bound:
            return ""
        bound *= 100 if self.share else 1
        unit = 10.0 ** (floor(log10(bound)) - 1)
        number = f"{ceil(round(bound / unit, 9)) * unit:,.6g}{' %' if self.share else ''}"
        return f"{number} {self.words}".rstrip()


class Hazard(NamedTuple):
    """A shape for which a kernel fails, is wrong, or leaves its memory."""

    id: str
    """Stable name in kebab case."""
    kind: str
    """`returns-error`, `wrong-result`, `overrun`, `too-large`, or `inexact` where results are off by a known part."""
    entries: tuple[str, ...]
    """Entry points it is reached through."""
    origin: Origin
    """Where it was read."""
    when: Condition
    """Shapes that meet it, in the variables the kernel sees."""
    brief: str
    """Predicate of a sentence about the kernel."""
    what: str
    """What happens and why, as one sentence."""
    of_kernels: tuple[str, ...] | None = None
    """Kernels of the chain that have it, where it is not the function of its origin; empty where any kernel has it."""
    way_round: str = ""
    """What a model's author can do, as one sentence; empty where nothing is known."""
    status: int | None = 0
    """Status returned; None where the call does not return one."""
    unsized: Condition | None = None
    """Condition for unknown sizes, in terms of the padding after; None for none."""
    breach: Condition | None = None
    """The part of `when` that messages give with its numbers; all of it where None, no numbers where TRUE."""
    reported: str = ""
    """Where it is reported upstream: `issue 109`."""
    assembly: bool = False
    """Whether inline assembly alone has it; a build with ARM_MATH_AUTOVECTORIZE has C code instead, which is right."""
    caller: bool = False
    """Whether it is for the caller to avoid (a buffer it must allocate) and so no defect of a model."""

    compiler: CompilerDefect | None = None
    """The compiler's defect that makes it, where the source is right."""
    bound: Bound | None = None
    """How far results are off at most, of a row of kind `inexact`."""

    @property
    def kernels(self) -> tuple[str, ...]:
        """Kernels of the chain that have it; empty where it does not depend on the kernel."""
        return (self.origin.function,) if self.of_kernels is None else self.of_kernels

    def on(self, target: Target) -> bool | None:
        """Whether builds for a target have it; None where the compiler may make it."""
        if not self.origin.covers(target):
            return False
        return True if self.compiler is None else self.compiler.hits(target)

    def meets(self, values: Values) -> bool | None:
        """Whether a call meets it; None where unknown sizes leave it open."""
        truth = self.when.evaluate(values)
        return self.unsized.evaluate(values) if truth is None and self.unsized else truth

    def unknown(self, values: Values) -> frozenset[str]:
        """The variables that leave it open."""
        return frozenset() if self.meets(values) is not None else self.when.unknown(values)

    def numbers(self, values: Values) -> str:
        """Values of a call that meets the hazard, and the allowed values: `padding.w is 2; allowed: padding.w <= 1`.

        Empty where no number decides, or none is known.
        """
        held = (self.breach or self.when).holding(values)
        if not held and self.unsized:
            held = self.unsized.holding(values)
        have = ", ".join(dict.fromkeys(part.have(values) for part in held))
        return f"{have}; allowed: {' or '.join(not_(part).explain() for part in held)}" if held else ""


# What the size tables share: a short way to write a case.


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


class Evidence(NamedTuple):
    """What was measured for one check and entry point on one release and instruction set."""

    rule: str
    """Kebab name of the rule."""
    entry: str
    """Entry point measured, `convolve_s8`."""
    release: str
    """CMSIS-NN release."""
    isa: str
    """Instruction set."""
    inside: bool
    """Pairs inside the check's region, or outside it."""
    pairs: int
    """Pairs measured."""
    faster: int
    """Pairs with fewer instructions after."""
    median: float
    """Median change in percent; negative is fewer instructions."""
    worst: float
    """Largest change in percent."""
