"""What some versions of compilers make of the source, where the source is right."""

from __future__ import annotations

from onnxlint_cmsis.cmsis_nn.releases import holds
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Isa, Target


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
        """Tell whether a build for the target has the code that it changes, whatever compiles it."""
        return target.isa in self.isas and holds(self.since, "", target.release)

    def hits(self, target: Target) -> bool | None:
        """Tell if a target's compiler does it: True for the version seen, None where it may (no version, or another).

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
