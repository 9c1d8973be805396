"""Scratch as it is planned in a program, and as a target needs it.

Exporters plan scratch for one instruction set and do not say which; default builds compare nothing with it
(backends/cortex_m/CMakeLists.txt: CORTEX_M_ENABLE_RUNTIME_CHECKS). A kernel looks whether there is a buffer, never how
large it is. What each statement says was seen in QEMU with CMSIS-NN 99f736a6 and gcc 12.2.
"""

from __future__ import annotations

from math import prod

from onnxlint_cmsis.cmsis_nn.library import Route, route
from onnxlint_cmsis.formats.pte.calls import ProgramCall
from onnxlint_cmsis.formats.pte.to_graph import LoadedProgram
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Function, Isa, KernelCall, Pair, Target
from onnxlint_cmsis.lower.outcome import Outcome
from onnxlint_cmsis.runtimes.executorch.kernels import LINEAR, Handed, Kernel
from onnxlint_cmsis.runtimes.runtime import Runtime

BLOCK = 124
"""Channels that arm_depthwise_conv_s8_opt takes at once on MVE (CH_IN_BLOCK_MVE)."""
COLUMNS = 4
"""Results of one pass of the kernels for MVE, each with its inputs in scratch."""
PLANS = ("plan", "overrun", "short-plan")
"""Causes of findings about a plan: what comes of it, where other memory is overwritten, and where that is not known."""
NO_BUFFER = "buffer"
"""Cause of a finding about a kernel that hands no buffer over where its function asks for one."""


class Plan(NamedTuple):
    """What a program planned for a call, and what comes of it on a target."""

    given: tuple[int, ...]
    """Bytes of each scratch buffer in the file; none where the kernel allocates its scratch when it runs."""
    needed: tuple[int, ...]
    """Bytes that the target's kernel asks for."""
    verdict: Outcome | None = None
    """What becomes of the call for it; None where it does."""
    reason: str = ""
    """Why, as a clause."""
    behind: int = 0
    """Bytes that are overwritten behind the scratch."""
    low: tuple[int, int] = (0, 0)
    """First address that is written for want of scratch, and one behind the last; equal where none is."""
    handed: Handed = Handed.PLANNED
    """The buffer that the kernel hands over."""

    @property
    def cause(self) -> str:
        """Cause of the finding."""
        if self.handed is Handed.NONE:
            return NO_BUFFER
        if self.verdict is Outcome.UNDECIDED:
            return "short-plan"
        writes = self.behind > 0 or self.low[1] > self.low[0]
        return "overrun" if self.verdict is Outcome.WRONG and writes else "plan"


def planned(call: ProgramCall, kernel: Kernel) -> tuple[int, ...]:
    """Bytes of the planned scratch of a call, in the order of its kernel's buffers; none where none is planned.

    The kernel sums of a dense layer count as such: they are constants of the file that its kernel takes as a buffer.
    """
    if call.op == LINEAR:
        sums = call.tensor("kernel_sum")
        return (sums.bytes if sums else 0,)
    tensors = (call.tensor(name) for name in kernel.scratch)
    return tuple(tensor.bytes for tensor in tensors if tensor is not None)


def handed_over(call: ProgramCall, kernel: Kernel) -> tuple[int, ...]:
    """Bytes of each buffer that a kernel hands to CMSIS-NN, 0 for a null pointer; none where it allocates them."""
    return (0,) * len(kernel.scratch) if kernel.handed is Handed.NONE else planned(call, kernel)


def needed(call: ProgramCall, kernel: Kernel, kernel_call: KernelCall, taken: Route) -> tuple[int, ...]:
    """Bytes that the kernel of a target asks for, buffer by buffer."""
    if kernel_call.function is Function.TRANSPOSE_CONV:
        return max(taken.buffer_size or 0, 0), max(taken.reverse_buffer_size or 0, 0)
    return (max(taken.buffer_size or 0, 0),) if call.op == LINEAR or kernel.scratch else ()


def exported(call: ProgramCall, kernel: Kernel, kernel_call: KernelCall, isa: Isa, runtime: Runtime) -> tuple[int, ...]:
    """Bytes that an exporter plans for an instruction set.

    It asks functions of CMSIS-NN that were compiled for a desktop, and shows them the weights of a depthwise
    convolution as those of a convolution with one input channel (passes/scratch_buffer_sizes.py of 1.5.1).
    """
    shown = kernel_call
    if kernel_call.function is Function.DEPTHWISE:
        shown = kernel_call._replace(filter_dims=kernel_call.filter_dims._replace(n=kernel_call.filter_dims.c, c=1))
    target = Target("", isa, runtime.release)
    return needed(call, kernel, kernel_call, route(shown, runtime.library(kernel_call.entry, target)))


def allocated(kernel: Kernel, kernel_call: KernelCall, plan: Plan, library: Target) -> tuple[int, ...]:
    """Bytes of each buffer that a call works with; `library` is the target of its kernels.

    Until 1.3.0 a convolution asks arm_convolve_s8_get_buffer_size, whatever its wrapper takes: that of a dilated call.
    """
    if kernel.handed is Handed.GENERAL:
        general = route(kernel_call._replace(dilation=Pair(2, 2)), library)
        return (max(general.buffer_size or 0, 0),)
    return plan.given or plan.needed


def written(kernel_call: KernelCall, taken: Route, isa: Isa) -> int | None:
    """Bytes from the first to the last that a kernel writes to its scratch; None where that is not known.

    arm_depthwise_conv_s8_opt.c:94-156 keeps the inputs of up to four results on MVE, each place of the window 124 bytes
    apart. arm_convolve_s8.c:128-250 keeps the windows of four results on MVE, each a multiple of 4 bytes apart; on DSP
    of two, widened to 16 bits, the window being read behind the first. Run in QEMU: 21 calls on Cortex-M55 and 15 on
    Cortex-M4, with CMSIS-NN 99f736a6 and gcc 12.2, wrote as many.
    """
    results = (kernel_call.output_dims.h or 0) * (kernel_call.output_dims.w or 0)
    window = (kernel_call.filter_dims.h or 0) * (kernel_call.filter_dims.w or 0)
    kernel = taken.chain[-1] if taken.chain else ""
    if kernel == "arm_depthwise_conv_s8_opt" and isa is not Isa.SCALAR:
        channels = kernel_call.input_dims.c or 0
        most = (min(COLUMNS, results) * window - 1) * BLOCK + min(BLOCK, channels)
        return most if isa is Isa.MVE else 2 * window * channels
    if kernel == "arm_convolve_s8" and kernel_call.function is Function.CONVOLVE and kernel_call.output_dims.n == 1:
        columns = window * (kernel_call.filter_dims.c or 0)
        apart = -(-columns // 4) * 4
        if isa is Isa.MVE:
            return (min(COLUMNS, results) - 1) * apart + columns
        return 2 * apart + columns * min(2, results) if isa is Isa.DSP else None
    return None


WITHOUT_SCRATCH = ("arm_convolve_1x1_s8", "arm_convolve_1x1_s8_fast")
"""Kernels that run without scratch. The second asks for some with armclang (arm_convolve_1x1_s8_fast.c:76)."""
LOST_BIAS = {
    Isa.SCALAR: "its bias is in the kernel sums alone, which only MVE reads: the result lacks the bias",
    Isa.MVE: "its kernel sums do not hold its bias, and MVE reads these alone: the result lacks the bias",
}
"""Where the bias of a dense layer is lost, and why: on MVE, or on what is not MVE."""


def losing_bias(plan: Plan, lost: Isa | None, target: Target) -> Plan:
    """The plan of a call whose bias is lost on `lost`, a key of LOST_BIAS, or nowhere."""
    if lost is not (Isa.MVE if target.isa is Isa.MVE else Isa.SCALAR):
        return plan
    return plan._replace(verdict=Outcome.WRONG, reason=LOST_BIAS[lost])


def plan_of(call: ProgramCall, kernel: Kernel, kernel_call: KernelCall, taken: Route, target: Target) -> Plan:
    """What comes of a call's plan on a target."""
    plan = Plan(handed_over(call, kernel), needed(call, kernel, kernel_call, taken), handed=kernel.handed)
    if call.op == LINEAR and target.isa is not Isa.MVE:
        return plan
    short = next(((have, want) for have, want in zip(plan.given, plan.needed, strict=False) if have < want), None)
    size = written(kernel_call, taken, target.isa)
    if short is None or (short[0] and size is not None and size <= short[0]):
        return plan
    have, want = short
    if not have:
        return _without_scratch(plan, kernel_call, taken, want)
    text = f"the file has {have:,} bytes of scratch for it, and {taken.kernel}"
    if size is None:
        text = f"{text} asks for {want:,} on this target: it may write up to {want - have:,} bytes behind its scratch"
        return plan._replace(verdict=Outcome.UNDECIDED, reason=text)
    text = f"{text} writes {size:,} on this target: {size - have:,} bytes behind its scratch are overwritten"
    return plan._replace(verdict=Outcome.WRONG, reason=text, behind=size - have)


def _without_scratch(plan: Plan, kernel_call: KernelCall, taken: Route, want: int) -> Plan:
    """What comes of a call that asks for `want` bytes where the file has none.

    arm_depthwise_conv_wrapper_s8.c:45-82 writes the weights of a layer with one input channel behind the scratch of the
    convolution that it calls, and does not ask whether there is any.
    """
    what = "kernel sums" if kernel_call.function is Function.FULLY_CONNECTED else "scratch"
    text = f"the file has no {what} for it, and this target needs {want:,} bytes"
    if plan.handed is Handed.NONE:
        text = f"its kernel hands a null pointer over as scratch, and this target needs {want:,} bytes"
    ends = taken.kernel not in WITHOUT_SCRATCH
    if kernel_call.function is not Function.DEPTHWISE or taken.kernel == "arm_depthwise_conv_s8_opt":
        reason = f"{text}: {taken.kernel} returns an error"
        return plan._replace(verdict=Outcome.REFUSED, reason=reason) if ends else plan
    low = (want - prod(size or 0 for size in kernel_call.filter_dims), want)
    text = f"{text}: its weights are written to addresses {low[0]:,} to {low[1] - 1:,}, over vectors or code"
    if not ends:
        return plan._replace(verdict=Outcome.WRONG, reason=text, low=low)
    reason = f"{text}, and {taken.kernel} returns an error"
    return plan._replace(verdict=Outcome.REFUSED, reason=reason, low=low)


def lost_bias(loaded: LoadedProgram, call: ProgramCall) -> Isa | None:
    """Where the bias of a dense layer is lost, a key of LOST_BIAS; None for nowhere.

    The exporter sums offset × (weight + weight offset) over each row of the weights, and adds the bias
    (passes/aten_to_cortex_m_pass.py: _compute_kernel_sum). Sums whose constants cannot be read count as holding one.
    MVE takes the sums for the bias, other code the bias (arm_nn_vec_mat_mult_t_s8.c:60-92).
    """
    sums, weights, bias = (call.tensor(name) for name in ("kernel_sum", "weights", "bias"))
    if call.op != LINEAR or sums is None or weights is None or len(weights.sizes) != 2:
        return None
    import numpy as np

    data = [loaded.program.bytes_of(tensor) for tensor in (sums, weights)]
    held = True
    if all(data) and weights.elem_type == "int8" and sums.elem_type == "int32":
        rows = np.frombuffer(data[1], np.int8).reshape(weights.shape).astype(np.int64) + call.number_of("filter_offset")
        totals = np.frombuffer(data[0], np.int32).reshape(-1)
        held = totals.size != len(rows) or bool((totals != call.number_of("input_offset") * rows.sum(axis=1)).any())
    if bias is None:
        return Isa.SCALAR if held else None
    return Isa.MVE if not held and any(loaded.program.bytes_of(bias)) else None
