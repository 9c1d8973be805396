"""What a kernel does in Init, Prepare and Eval, written down step by step as its source does it.

Lines are those of revision 90b983c2.
"""

from __future__ import annotations

from enum import Enum

from onnxlint_cmsis.cmsis_nn.library import Route, route
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import KernelCall, Target
from onnxlint_cmsis.runtimes.remark import NOT_REVIEWED
from onnxlint_cmsis.runtimes.status import status_use
from onnxlint_cmsis.runtimes.tflm.build import TflmBuild
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView
from onnxlint_cmsis.runtimes.tflm.rows import Condition, Objection

WRONG = ("wrong-result", "overrun")
"""Kinds of hazards that spoil the output, or what lies beside it, and return no error."""

Objections = dict[tuple[Condition, int], Objection | None]
"""What conditions have against an operator, by the condition and the scratch requests before it, which it may ask."""


class Known(NamedTuple):
    """What builds of one model found out that holds for all of them."""

    objections: list[Objections]
    """Those of each operator."""
    routes: dict[tuple[KernelCall, Target], Route]
    """Routes of calls on targets."""


class Stage(str, Enum):
    """When something happens: while tensors are allocated, or in each run."""

    PREPARE = "Prepare"
    INVOKE = "Invoke"


class Refused(Exception):  # noqa: N818 - not an error of ours: the kernel says no
    """A kernel returned kTfLiteError: why, when, and the cause of the finding, empty for the usual one."""

    def __init__(self, reason: str, stage: Stage, cause: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.stage = stage
        self.cause = cause


class FailedCheck(NamedTuple):
    """A check of a kernel that does not hold, at which a build halts."""

    stage: Stage
    """When."""
    reason: str
    """What is broken, and the line of the source."""
    cause: str = ""
    """Cause of the finding; empty for the usual one."""


class Unpredictable(Exception):  # noqa: N818 - as above
    """What the kernel does is not known: it reads shapes unseen, and this one leads it astray, or nobody read it."""

    def __init__(self, reason: str, cause: str = "unpredictable") -> None:
        super().__init__(reason)
        self.cause = cause
        """Cause of the finding."""


class Preparation:
    """The steps of one operator's kernel, in order."""

    def __init__(self, view: OperatorView, build: TflmBuild, known: Known, row: int) -> None:
        self.view = view
        self.build = build
        self._objections, self._routes = known.objections[row], known.routes
        self.persistent: list[int] = []
        """Bytes of each persistent request of Prepare."""
        self.scratch: list[int] = []
        """Bytes of each scratch request."""
        self.functions: list[str] = []
        """CMSIS-NN functions that Eval calls; none for reference code."""
        self.chain: tuple[str, ...] = ()
        """Kernels under the main function, in order of delegation."""
        self.call: KernelCall | None = None
        """The main function's call, where it has one with a route."""
        self.failed_checks: list[FailedCheck] = []
        """TFLITE_DCHECKs that do not hold."""
        self.wrong: list[str] = []
        """Why the output will not be what the model says, though no status tells."""
        self.hazards: list[str] = []
        """What is known against the calls of functions."""
        self.dropped: str = ""
        """An error that Eval drops."""
        self.reference: str = ""
        """Why reference code runs."""
        self.wrong_cause: str = ""
        """Cause of the finding on wrong values; empty for the usual one."""
        self.reference_cause: str = ""
        """Cause of the finding on reference code; empty for the usual one."""
        self.fails: Refused | None = None
        """Why Eval returns an error."""
        self.halted: FailedCheck | None = None
        """TFLITE_CHECK that does not hold: it halts every build."""
        self.memory_known = True
        """Whether the requests are all the kernel makes."""
        self.forgotten_bias = False
        """Whether Prepare frees a tensor that it never allocated."""

    def objection(self, condition: Condition) -> Objection | None:
        """What a condition of the kernel has against the operator. Raises Unpredictable."""
        key = condition, self.view.scratch_before
        if key not in self._objections:
            self._objections[key] = condition(self.view)
        return self._objections[key]

    def routed(self, call: KernelCall) -> Route:
        """The route of a call on this build's library, for its size functions.

        Raises Unpredictable where the library's kernels are those of no release.
        """
        if call.entry in self.build.unreleased:
            library = self.build.revision.cmsis_nn[:8]
            raise Unpredictable(
                f"the kernels of {call.entry} in CMSIS-NN {library} are those of no release, and were not read",
                NOT_REVIEWED,
            )
        return self._route(call, self.build.target)

    def _route(self, call: KernelCall, target: Target) -> Route:
        if (call, target) not in self._routes:
            self._routes[call, target] = route(call, target)
        return self._routes[call, target]

    def runs(self, function: str, call: KernelCall | None = None) -> None:
        """Eval calls a function, but where reference code runs or it returns an error before.

        With a call, its chain and what is known against it are those of the route.
        """
        if self.reference or self.fails:
            return
        self.functions.append(function)
        if call is None:
            self.chain = (function,)
            return
        way, kernels = self.routed(call), self.build.kernels_of(call.entry)
        if kernels != self.build.target:
            way = self._route(call, kernels)
        self.call, self.chain = call, (function, *way.chain)
        if way.chain[:1] == (function,):
            self.chain = way.chain
        self.hazards += [hazard.what for hazard in way.hazards if hazard.kind in WRONG]
        if way.status:
            self.dropped = way.hazards[0].what if way.hazards else f"status {way.status}"
            use = status_use(call.entry)
            if use is not None and use.halts:
                self.failed_checks.append(FailedCheck(Stage.INVOKE, f"{self.dropped} ({use.source})"))

    def request(self, size: int | None) -> None:
        """A scratch request, even for no bytes; -1, an absent size function, counts as none."""
        self.scratch.append(max(size or 0, 0))

    def request_positive(self, size: int | None) -> None:
        """A scratch request that is left out where it would be for no bytes."""
        if size and size > 0:
            self.scratch.append(size)
