"""Sizes that a file states for results, and what each kernel of TensorFlow Lite Micro does where it computes others.

The runtime plans memory with the stated shapes and never resizes. Some kernels check them in Prepare, which is a row of
`kernels.py`; those below compute as many elements as their inputs make, or as the file says. Lines are those of
revision 90b983c2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import dropwhile
from math import prod
from types import MappingProxyType

from onnxlint_cmsis.formats.tflite.computed_sizes import computed_sizes
from onnxlint_cmsis.formats.tflite.file_model import Subgraph, TfliteTensor
from onnxlint_cmsis.formats.tflite.operand_sizes import MisfitError, NotComputedError, Shape
from onnxlint_cmsis.runtimes.tflm.broken_conditions import ABORTS_INVOKE, HALTS_INVOKE, INVOKE, PREPARE, WRONG
from onnxlint_cmsis.runtimes.tflm.operator_view import OperatorView, tensor_bytes, zero_point
from onnxlint_cmsis.runtimes.tflm.result_types import PAST_END
from onnxlint_cmsis.runtimes.tflm.rows import KernelLimit, Objection, condition

INTERNAL = "tensorflow/lite/kernels/internal"
R = f"{INTERNAL}/reference"
CAUSE = "sizes"
"""Cause of the finding on a size that the kernel believes."""
BY_INPUTS = "the kernel writes as many elements as its inputs make"
BY_FILE = "the kernel computes as many elements as the file says"
IMAGES = "the kernel takes the number of images from the file, and leaves pixels as they were"
EITHER = f"{BY_INPUTS}, or as the file says where it broadcasts"


class Sizes:
    """The shapes of an operator's results: as the file states them and as its inputs make them."""

    def __init__(self, view: OperatorView) -> None:
        self.view = view
        self.stated: tuple[Shape, ...] = tuple(view.subgraph.tensors[index].shape for index in view.operator.outputs)
        self.misfit = ""
        """Why the inputs make nothing; empty where they do, or where that is not known."""
        self.computed: tuple[Shape, ...] = self.stated
        """As stated where a run decides."""
        try:
            self.computed = computed_sizes(view.model, view.subgraph, view.operator)
        except MisfitError as reason:
            self.misfit = str(reason)
        except NotComputedError:
            pass

    @property
    def pair(self) -> tuple[Shape, Shape] | None:
        """The first shape that is stated otherwise, and what the inputs make; None where all agree."""
        return next((pair for pair in zip(self.stated, self.computed, strict=True) if pair[0] != pair[1]), None)

    @property
    def counts_differ(self) -> bool:
        """Tell whether a result has another number of elements."""
        return any(prod(stated) != prod(computed) for stated, computed in zip(self.stated, self.computed, strict=True))

    @property
    def overrun(self) -> bool:
        """Tell whether the inputs make more elements than the file has room for."""
        return any(prod(stated) < prod(computed) for stated, computed in zip(self.stated, self.computed, strict=True))

    @property
    def read(self) -> bool:
        """Tell whether an operator reads a result, in the shape of the file."""
        return not self.view.read.isdisjoint(self.view.operator.outputs)

    def text(self, does: str) -> str:
        """The first difference as a clause, and what the kernel does; empty where there is none."""
        pair = self.pair
        if pair is None:
            return ""
        return f"its output has shape {list(pair[0])} in the file, and its inputs make {list(pair[1])}{does}"


@condition
def as_computed(view: OperatorView, does: str, *, in_order: bool = False) -> Objection | None:
    """Every output has the shape that its inputs make; `does` says what the kernel does else.

    `in_order` for kernels that write element after element: another shape of as many elements is as good, unless an
    operator behind reads it.
    """
    sizes = Sizes(view)
    if sizes.misfit:
        return f"{sizes.misfit}; {does}"
    if in_order and not sizes.counts_differ and not sizes.read:
        return None
    past = f", {PAST_END}" if does == BY_INPUTS and sizes.overrun else ""
    return sizes.text(f"; {does}{past}")


def stated_as_computed(view: OperatorView) -> str:
    """Every output has the shape that its inputs make."""
    return Sizes(view).text("")


@condition
def as_many_elements(view: OperatorView, *types: str, same_rank: bool = False) -> Objection | None:
    """Inputs of one shape, and of one of the types, make as many elements as the output has (MatchingElementsSize).

    `same_rank` for kernels that broadcast where one input has more ones in front.
    """
    pair = [tensor for position in (0, 1) if (tensor := view.input(position))]
    sizes = Sizes(view)
    shapes = {tensor.shape if same_rank else tuple(dropwhile(lambda size: size == 1, tensor.shape)) for tensor in pair}
    alike = len(shapes) == 1 and pair[0].elem_type in types
    return sizes.text("") if alike and sizes.counts_differ else None


def planned_product(view: OperatorView) -> Objection | None:
    """The output of BATCH_MATMUL has as many elements as its inputs make, and no fewer axes (ReshapeOutputTensor)."""
    sizes = Sizes(view)
    fewer = any(len(stated) < len(computed) for stated, computed in zip(sizes.stated, sizes.computed, strict=True))
    return sizes.text("") if sizes.counts_differ or fewer else None


def counted_bytes(view: OperatorView) -> Objection | None:
    """A result of the model has no more bytes than the file says, which is what the interpreter counts."""
    sizes = Sizes(view)
    if not sizes.overrun or not {*view.operator.outputs} & {*view.subgraph.outputs}:
        return None
    return sizes.text("; Prepare writes these sizes, and `bytes` of the output stays that of the file")


def rank_of_file(view: OperatorView) -> Objection | None:
    """The output has as many axes as its inputs make: Prepare writes their sizes in place of those of the file."""
    pair = Sizes(view).pair
    if pair is None or len(pair[1]) <= len(pair[0]):
        return None
    return f"Prepare writes {len(pair[1])} sizes of its output into the room of {len(pair[0])}"


def body_bytes(view: OperatorView) -> Objection | None:
    """Tensors that IF and WHILE hand to a subgraph have as many bytes there (K/kernel_util.cc:150)."""
    subgraphs, operator = view.model.subgraphs, view.operator
    bodies = {option: subgraphs[index] for option, index in operator.bodies if 0 <= index < len(subgraphs)}
    handed = _tensors(view.subgraph, operator.inputs[1 if operator.op == "IF" else 0 :])
    given = _tensors(view.subgraph, operator.outputs)
    pairs: list[tuple[TfliteTensor, TfliteTensor]] = (
        [*zip(handed, given, strict=False)] if operator.op == "WHILE" else []
    )
    for option, body in bodies.items():
        pairs += zip(handed, _tensors(body, body.inputs), strict=False)
        if option != "cond_subgraph_index":
            pairs += zip(_tensors(body, body.outputs), given, strict=False)
    bad = next((pair for pair in pairs if tensor_bytes(pair[0]) != tensor_bytes(pair[1])), None)
    if bad is None:
        return None
    sides = [f"'{tensor.name}' has {tensor_bytes(tensor)} bytes" for tensor in bad]
    return f"{sides[0]}, and {sides[1]}, into which they are copied"


def _tensors(subgraph: Subgraph, numbers: Iterable[int]) -> list[TfliteTensor]:
    return [subgraph.tensors[number] for number in numbers if number >= 0]


def padding_point(view: OperatorView) -> Objection | None:
    """Nothing is padded, or 0 stands for 0 in what is padded: SpaceToBatchParams.output_offset is never written."""
    data, amounts = view.input(0), view.input(2)
    if data is None or amounts is None or not zero_point(data):
        return None
    if view.constant(amounts) and not any(view.model.bytes_of(amounts.buffer)):
        return None
    return f"it pads with what the arena held before, 0 in one that is zeroed, and its zero-point is {zero_point(data)}"


def _wrong(source: str, does: str, *, in_order: bool = True) -> KernelLimit:
    return KernelLimit(source, WRONG, as_computed(does, in_order=in_order), cause=CAUSE)


def _checked(source: str) -> KernelLimit:
    """A check of builds that have them, in Eval."""
    return KernelLimit(source, HALTS_INVOKE, stated_as_computed)


SHAPES_MATCH = _checked(f"{INTERNAL}/types.h:353")
"""MatchingFlatSize and its like."""
COUNTED = f"{INTERNAL}/types.h:345"
"""MatchingElementsSize, which every build has."""
WORKED_OUT = KernelLimit("tensorflow/lite/micro/micro_allocator.cc:258", WRONG, counted_bytes, cause=CAUSE)
"""Of kernels that write the sizes of their output in Prepare."""
_TABLE: tuple[tuple[str, tuple[KernelLimit, ...]], ...] = (
    ("ABS COS LOG LOGICAL_NOT RSQRT SIN SQRT SQUARE", (_wrong("elementwise.cc:202", BY_INPUTS),)),
    ("ADD DIV SUB", (
        KernelLimit(COUNTED, ABORTS_INVOKE, as_many_elements("FLOAT32", "INT8", "INT16", "INT32")),
        _wrong(f"{R}/add.h:41", BY_FILE),
    )),
    ("ADD_N", (_wrong("add_n.cc:166", BY_FILE),)),
    ("ARG_MAX ARG_MIN", (_checked(f"{R}/arg_min_max.h:67"), _wrong(f"{R}/arg_min_max.h:87", BY_INPUTS))),
    ("AVERAGE_POOL_2D MAX_POOL_2D", (_wrong(f"{R}/integer_ops/pooling.h:36", BY_FILE, in_order=False),)),
    ("BATCH_MATMUL", (KernelLimit("batch_matmul_common.cc:65", PREPARE, planned_product),)),
    ("BATCH_TO_SPACE_ND", (
        _wrong(f"{R}/batch_to_space_nd.h:74", IMAGES, in_order=False),
    )),
    ("BROADCAST_ARGS", (_wrong(f"{R}/broadcast_args.h:37", BY_FILE),)),
    ("CAST DEQUANTIZE ELU FLOOR HARD_SWISH L2_NORMALIZATION LEAKY_RELU LOGISTIC NEG QUANTIZE RELU RELU6 SOFTMAX TANH "
     "ZEROS_LIKE", (SHAPES_MATCH, _wrong(f"{INTERNAL}/types.h:358", BY_INPUTS))),
    ("CONCATENATION", (
        _checked(f"{R}/concatenation.h:51"),
        _wrong(f"{R}/concatenation.h:66", "the kernel copies as much along the axis as its inputs have"),
    )),
    ("CONV_2D", (_wrong(f"{R}/conv.h:66", BY_FILE, in_order=False),)),
    ("DEPTHWISE_CONV_2D", (_wrong(f"{R}/depthwiseconv_float.h:57", BY_FILE, in_order=False),)),
    ("EQUAL FLOOR_DIV FLOOR_MOD GREATER GREATER_EQUAL LESS LESS_EQUAL LOGICAL_AND LOGICAL_OR NOT_EQUAL "
     "SQUARED_DIFFERENCE", (_wrong(f"{R}/binary_function.h:50", EITHER),)),
    ("DYNAMIC_UPDATE_SLICE", (_wrong("dynamic_update_slice.cc:93", BY_INPUTS),)),
    ("FULLY_CONNECTED", (_wrong(f"{R}/fully_connected.h:144", BY_FILE),)),
    ("DEPTH_TO_SPACE EMBEDDING_LOOKUP L2_POOL_2D SPACE_TO_DEPTH", (WORKED_OUT,)),
    ("GATHER GATHER_ND", (WORKED_OUT, KernelLimit("gather.cc:172", WRONG, rank_of_file, cause=CAUSE))),
    ("IF", (KernelLimit("kernel_util.cc:231", INVOKE, body_bytes),)),
    ("MAXIMUM MINIMUM", (
        KernelLimit(COUNTED, ABORTS_INVOKE, as_many_elements("FLOAT32", "INT16", "INT32", "INT64", same_rank=True)),
        _wrong(f"{R}/maximum_minimum.h:38", EITHER),
    )),
    ("MUL", (KernelLimit(COUNTED, ABORTS_INVOKE, as_many_elements("INT8", "INT16")), _wrong(f"{R}/mul.h:61", EITHER))),
    ("PRELU SELECT_V2", (_wrong(f"{R}/prelu.h:70", EITHER),)),
    ("MEAN REDUCE_ALL REDUCE_MAX REDUCE_MIN SUM", (_wrong(f"{R}/reduce.h:125", BY_INPUTS),)),
    ("MIRROR_PAD", (_wrong("mirror_pad.cc:130", BY_FILE, in_order=False),)),
    ("PACK", (_checked("pack.cc:54"), _wrong("pack.cc:61", BY_FILE))),
    ("RESHAPE", (_wrong("reshape_common.cc:78", "the kernel keeps the shape of the file"),)),
    ("RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR", (_wrong(f"{R}/resize_bilinear.h:77", BY_INPUTS, in_order=False),)),
    ("REVERSE_V2", (_wrong("reverse.cc:121", BY_INPUTS),)),
    ("SHAPE", (_wrong("shape.cc:33", BY_INPUTS),)),
    ("SLICE", (_wrong(f"{R}/slice.h:107", BY_INPUTS),)),
    ("SPACE_TO_BATCH_ND", (
        _wrong(f"{R}/space_to_batch_nd.h:79", "the kernel writes as many images and pixels as the file says",
               in_order=False),
        KernelLimit(f"{R}/space_to_batch_nd.h:78", WRONG, padding_point, cause="padding"),
    )),
    ("SPLIT", (_checked("split.cc:44"), _wrong("split.cc:60", BY_FILE, in_order=False))),
    ("SPLIT_V", (_checked("split_v.cc:46"), _wrong("split_v.cc:63", BY_FILE, in_order=False))),
    ("SVDF", (KernelLimit("svdf_common.cc:413", PREPARE, stated_as_computed),)),
    ("TRANSPOSE", (_wrong(f"{R}/transpose.h:100", BY_FILE, in_order=False),)),
    ("TRANSPOSE_CONV", (_wrong(f"{R}/transpose_conv.h:65", BY_FILE, in_order=False),)),
    ("UNIDIRECTIONAL_SEQUENCE_LSTM", (KernelLimit("lstm_eval_common.cc:91", PREPARE, stated_as_computed),)),
    ("UNPACK", (_checked("unpack.cc:57"), _wrong("unpack.cc:64", BY_INPUTS))),
    ("WHILE", (KernelLimit("kernel_util.cc:168", INVOKE, body_bytes),)),
)  # fmt: skip
STATED: Mapping[str, tuple[KernelLimit, ...]] = MappingProxyType(
    {op: rows for ops, rows in _TABLE for op in ops.split()}
)
"""Rows by operator, asked behind those of its kernel.

None is needed for kernels that ask for the shape in Prepare (BROADCAST_TO, CEIL, CUMSUM, EXP, EXPAND_DIMS, FILL,
LOG_SOFTMAX, PAD, PADV2, ROUND, SQUEEZE, STRIDED_SLICE).
"""
