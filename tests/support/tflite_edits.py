"""Edits of whole `.tflite` files, as dicts of the schema: what moves, shares, adds or replaces more than one field.

Some keep what a file computes, others change it; nobody says which.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxlint_cmsis.formats.tflite.schema import OPERATORS
from support.tflite_writer import operator_code

Model = dict[str, Any]
KINDS = {"INT8": np.int8, "UINT8": np.uint8, "INT16": np.int16, "INT32": np.int32, "INT64": np.int64}
KINDS |= {"FLOAT32": np.float32, "FLOAT16": np.float16, "FLOAT64": np.float64}
NAMES = (
    "OfflineMemoryAllocation", "min_runtime_version", "CONVERSION_METADATA", "TFLITE_METADATA", "buffer_location",
    "reduced_precision_support", "TFLM_MEMORY", "x",
)  # fmt: skip
SIBLINGS = (
    ("RELU", "RELU6", "RELU_N1_TO_1", "ABS", "LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "QUANTIZE", "NEG"),
    ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "DIV", "SQUARED_DIFFERENCE", "FLOOR_DIV", "FLOOR_MOD", "POW"),
    ("MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"), ("RESHAPE", "SQUEEZE", "EXPAND_DIMS"),
    ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"), ("CONV_2D", "FULLY_CONNECTED", "DEPTHWISE_CONV_2D"),
    ("PAD", "PADV2", "MIRROR_PAD"), ("EQUAL", "NOT_EQUAL", "LESS", "GREATER"), ("SPLIT", "SPLIT_V", "UNPACK"),
    ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE"), ("ARG_MAX", "ARG_MIN"), ("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION"),
    ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), ("SELECT", "SELECT_V2"), ("FLOOR", "CEIL", "ROUND", "SQUARE"),
)  # fmt: skip


def edited(model: Model, chance: random.Random) -> str:
    """Edit a model in place; the name of the edit. Raises LookupError or ValueError where it finds nothing to edit."""
    name = chance.choice([*EDITS])
    EDITS[name](model, chance)
    return name


def main_of(model: Model) -> Model:
    return model["subgraphs"][0]


def number_of(model: Model, op: str) -> int:
    """Number of an operator's code, of the version that the file has, or 1."""
    codes = model.setdefault("operator_codes", [])
    index = OPERATORS.index(op)
    for number, code in enumerate(codes):
        if max(code.get("builtin_code", 0), code.get("deprecated_builtin_code", 0)) == index:
            return number
    codes.append(operator_code(op))
    return len(codes) - 1


def add_buffer(model: Model, values: bytes) -> int:
    model["buffers"].append({"data": [*values]})
    return len(model["buffers"]) - 1


def constants(model: Model) -> list[Model]:
    """Tensors of the main subgraph that hold values."""
    buffers = model["buffers"]
    held = [t for t in main_of(model)["tensors"] if t.get("buffer", 0) < len(buffers)]
    return [tensor for tensor in held if buffers[tensor.get("buffer", 0)].get("data")]


def values_of(model: Model, tensor: Model) -> np.ndarray[Any, Any]:
    data = bytes(model["buffers"][tensor["buffer"]]["data"])
    return np.frombuffer(data, KINDS[tensor.get("type", "FLOAT32")]).copy()


def put(model: Model, tensor: Model, values: np.ndarray[Any, Any]) -> None:
    """Give a constant values of its own."""
    tensor["buffer"] = add_buffer(model, np.ascontiguousarray(values).tobytes())


def move_operators(model: Model, chance: random.Random) -> None:
    """Two operators exchanged."""
    operators = main_of(model)["operators"]
    first, second = chance.sample(range(len(operators)), 2)
    operators[first], operators[second] = operators[second], operators[first]


def renumber(model: Model, chance: random.Random) -> None:
    """Tensors in another order, with all that names them."""
    main = main_of(model)
    order = [*range(len(main["tensors"]))]
    chance.shuffle(order)
    renumbered = {old: new for new, old in enumerate(order)}
    main["tensors"] = [main["tensors"][old] for old in order]
    for table in (main, *main["operators"]):
        for field in ("inputs", "outputs", "intermediates"):
            if table.get(field):
                table[field] = [renumbered.get(number, number) for number in table[field]]
    for signature in model.get("signature_defs") or []:
        for entry in (*(signature.get("inputs") or []), *(signature.get("outputs") or [])):
            entry["tensor_index"] = renumbered.get(entry.get("tensor_index", 0), 0)


def share_buffers(model: Model, chance: random.Random) -> None:
    """One buffer for two constants, a copy of its own, or another constant's."""
    tensors = constants(model)
    tensor, other = chance.choice(tensors), chance.choice(tensors)
    if chance.random() < 0.5:
        tensor["buffer"] = add_buffer(model, bytes(model["buffers"][tensor["buffer"]]["data"]))
    else:
        tensor["buffer"] = other["buffer"]


def move_buffers(model: Model, chance: random.Random) -> None:
    """Buffers in another order, with all that names them; or with more bytes behind the values."""
    if chance.random() < 0.3:
        buffer = model["buffers"][chance.choice(constants(model))["buffer"]]
        buffer["data"] = [*buffer["data"], *[chance.randrange(256)] * chance.choice((1, 4, 16))]
        return
    order = [*range(1, len(model["buffers"]))]
    chance.shuffle(order)
    renumbered = {0: 0, **{old: new for new, old in enumerate(order, 1)}}
    model["buffers"] = [model["buffers"][0], *(model["buffers"][old] for old in order)]
    for subgraph in model["subgraphs"]:
        for tensor in subgraph["tensors"]:
            tensor["buffer"] = renumbered[tensor.get("buffer", 0)]
    for entry in model.get("metadata") or []:
        entry["buffer"] = renumbered[entry.get("buffer", 0)]


def add_unused(model: Model, chance: random.Random) -> None:
    """A tensor that nobody reads, or an operator whose result nobody does."""
    main = main_of(model)
    tensors = main["tensors"]
    tensors.append({**copy.deepcopy(chance.choice(tensors)), "name": "unused"})
    if chance.random() < 0.6:
        operator = copy.deepcopy(chance.choice(main["operators"]))
        tensors[-1] = {**copy.deepcopy(tensors[operator["outputs"][0]]), "name": "unused"}
        operator["outputs"] = [len(tensors) - 1, *operator["outputs"][1:]]
        main["operators"].insert(chance.randrange(len(main["operators"]) + 1), operator)


def scale_channels(model: Model, chance: random.Random) -> None:
    """A scale for each channel: equal ones, one of them other, or the last one alone."""
    tensors = [t for t in main_of(model)["tensors"] if t.get("shape") and (t.get("quantization") or {}).get("scale")]
    tensor = chance.choice(tensors)
    axis = chance.randrange(len(tensor["shape"]))
    stored, count = tensor["quantization"], tensor["shape"][axis]
    if len(stored["scale"]) > 1:
        stored.update(scale=stored["scale"][:1], zero_point=stored.get("zero_point", [0])[:1])
        return
    scales, zeros = [*stored["scale"]] * count, [*(stored.get("zero_point") or [0])] * count
    spot = chance.randrange(count)
    scales[spot] *= chance.choice((1, 1, 2, 1.0000001))
    zeros[spot] += chance.choice((0, 0, 0, 1))
    stored.update(scale=scales, zero_point=zeros, quantized_dimension=axis)


def scale_all(model: Model, chance: random.Random) -> None:
    """A scale or zero-point of an activation, or of a constant."""
    tensors = [t for t in main_of(model)["tensors"] if (t.get("quantization") or {}).get("scale")]
    stored = chance.choice(tensors)["quantization"]
    factor = chance.choice((2, 0.5, 1 + 2**-23, 1 - 2**-24, 1.001))
    if chance.random() < 0.7:
        stored["scale"] = [float(np.float32(scale * factor)) for scale in stored["scale"]]
    else:
        stored["zero_point"] = [zero + chance.choice((1, -1)) for zero in stored.get("zero_point") or [0]]


def set_version(model: Model, chance: random.Random) -> None:
    """Another version of an operator, or a code of its own for one of them."""
    if chance.random() < 0.6:
        chance.choice(model["operator_codes"])["version"] = chance.randrange(1, 14)
        return
    operator = chance.choice(main_of(model)["operators"])
    code = copy.deepcopy(model["operator_codes"][operator.get("opcode_index", 0)])
    code["version"] = chance.randrange(1, 14)
    model["operator_codes"].append(code)
    operator["opcode_index"] = len(model["operator_codes"]) - 1


def add_metadata(model: Model, chance: random.Random) -> None:
    """Metadata of any name, with zeros, with a plan or without data."""
    count = len(main_of(model)["tensors"])
    words = chance.choice(([1, 0, count, *[-1] * count], [0] * 4, [1, 0, count, *range(0, 16 * count, 16)]))
    buffer = add_buffer(model, np.array(words, np.int32).tobytes())
    entries = model["metadata"] = [*(model.get("metadata") or [])]
    entries.append({"name": chance.choice(NAMES), "buffer": chance.choice((buffer, buffer, 0))})


def add_subgraph(model: Model, chance: random.Random) -> None:
    """A copy of the main subgraph behind it or in front, entered by a signature or not."""
    other = copy.deepcopy(main_of(model))
    if chance.random() < 0.5 and constants({**model, "subgraphs": [other]}):
        tensor = chance.choice(constants({**model, "subgraphs": [other]}))
        put(model, tensor, values_of(model, tensor)[::-1])
    model["subgraphs"] = [other, *model["subgraphs"]] if chance.random() < 0.3 else [*model["subgraphs"], other]
    if model.get("signature_defs") and chance.random() < 0.5:
        model["signature_defs"][0]["subgraph_index"] = chance.choice((0, 1))


def make_variable(model: Model, chance: random.Random) -> None:
    """Tensors that keep their values."""
    tensors = main_of(model)["tensors"]
    for tensor in chance.sample(tensors, min(len(tensors), chance.choice((1, 2)))):
        tensor["is_variable"] = not tensor.get("is_variable")


def make_sparse(model: Model, chance: random.Random) -> None:
    """A constant said to be sparse, all axes dense."""
    tensor = chance.choice(constants(model))
    rank = len(tensor.get("shape") or [])
    tensor["sparsity"] = {
        "traversal_order": [*range(rank)], "block_map": [],
        "dim_metadata": [{"format": 0, "dense_size": size} for size in tensor.get("shape") or []],
    }  # fmt: skip


def retype(model: Model, chance: random.Random) -> None:
    """Another type of a constant with its values, of one activation, or of all of a type."""
    tensors = main_of(model)["tensors"]
    kind = chance.choice([*KINDS])
    if chance.random() < 0.5:
        tensor = chance.choice(constants(model))
        put(model, tensor, values_of(model, tensor).astype(KINDS[kind]))
        tensor["type"] = kind
        return
    old = chance.choice(tensors).get("type", "FLOAT32")
    alike = [t for t in tensors if t.get("type", "FLOAT32") == old and t not in constants(model)]
    for tensor in alike if chance.random() < 0.5 else [chance.choice(alike)]:
        tensor["type"] = kind


def open_sizes(model: Model, chance: random.Random) -> None:
    """Signatures of shapes with open axes, and a rank that is known."""
    for tensor in main_of(model)["tensors"] if chance.random() < 0.5 else [chance.choice(main_of(model)["tensors"])]:
        shape = tensor.get("shape") or []
        if shape:
            axis = chance.randrange(len(shape))
            tensor["shape_signature"] = [-1 if n == axis else size for n, size in enumerate(shape)]
            tensor["has_rank"] = chance.random() < 0.5


def set_external(model: Model, chance: random.Random) -> None:
    """A constant in another file, or a buffer whose data stand behind the flatbuffer."""
    tensor = chance.choice(constants(model))
    if chance.random() < 0.5:
        tensor["external_buffer"] = chance.choice((1, 2))
    else:
        model["buffers"][tensor["buffer"]].update(offset=chance.choice((1, 2, 64)), size=chance.choice((1, 4)))


def permute_weights(model: Model, chance: random.Random) -> None:
    """A constant with two of its rows exchanged, one of them 0, or one more off."""
    tensor = chance.choice([t for t in constants(model) if t.get("shape")])
    values = values_of(model, tensor).reshape(tensor["shape"])
    axis = chance.randrange(values.ndim)
    rows = np.moveaxis(values, axis, 0)
    first, second = chance.randrange(len(rows)), chance.randrange(len(rows))
    way = chance.choice(("swap", "zero", "copy", "shift"))
    if way == "swap":
        rows[[first, second]] = rows[[second, first]]
    elif way == "zero":
        rows[first] = 0
    elif way == "copy":
        rows[first] = rows[second]
    else:
        rows[first] += np.array(1, values.dtype)
    put(model, tensor, values)


def reshape_constant(model: Model, chance: random.Random) -> None:
    """A constant of another shape, with as many elements."""
    tensor = chance.choice(constants(model))
    shape = [*(tensor.get("shape") or [])]
    ways = [[1, *shape], [*shape, 1], shape[::-1], [int(np.prod(shape))], [size for size in shape if size != 1]]
    tensor["shape"] = chance.choice(ways)


def drop_operand(model: Model, chance: random.Random) -> None:
    """An operand left out, -1 in its place, one more, or two exchanged."""
    inputs = chance.choice([op for op in main_of(model)["operators"] if op.get("inputs")])["inputs"]
    way = chance.choice(("less", "none", "more", "swap"))
    if way == "less":
        inputs.pop()
    elif way == "none":
        inputs[chance.randrange(len(inputs))] = -1
    elif way == "more":
        inputs.append(chance.choice((-1, *inputs)))
    else:
        first, second = chance.sample(range(len(inputs)), 2)
        inputs[first], inputs[second] = inputs[second], inputs[first]


def exchange_operator(model: Model, chance: random.Random) -> None:
    """A like operator, with its options or without."""
    operator = chance.choice(main_of(model)["operators"])
    code = model["operator_codes"][operator.get("opcode_index", 0)]
    op = OPERATORS[max(code.get("builtin_code", 0), code.get("deprecated_builtin_code", 0))]
    others = [name for group in SIBLINGS if op in group for name in group if name != op]
    operator["opcode_index"] = number_of(model, chance.choice(others))
    if chance.random() < 0.5:
        operator["builtin_options"] = None


def insert_operator(model: Model, chance: random.Random) -> None:
    """An operator that keeps what it reads, most often, in front of an operand."""
    main = main_of(model)
    tensors = main["tensors"]
    spot = chance.randrange(len(main["operators"]))
    inputs = main["operators"][spot]["inputs"]
    position = chance.choice([at for at, number in enumerate(inputs) if number >= 0])
    source = tensors[inputs[position]]
    shape = [*(source.get("shape") or [])]
    op, more, options = chance.choice(
        [
            ("RESHAPE", [np.array(shape, np.int32)], ("ReshapeOptions", {"new_shape": shape})),
            ("RESHAPE", [], ("ReshapeOptions", {"new_shape": shape})),
            ("QUANTIZE", [], ("QuantizeOptions", {})),
            ("TRANSPOSE", [np.arange(len(shape), dtype=np.int32)], ("TransposeOptions", {})),
            ("PAD", [np.zeros((len(shape), 2), np.int32)], ("PadOptions", {})),
            ("CONCATENATION", [], ("ConcatenationOptions", {"axis": chance.choice((0, -1))})),
            ("SLICE", [np.zeros(len(shape), np.int32), np.array(shape, np.int32)], ("SliceOptions", {})),
            ("TILE", [np.ones(len(shape), np.int32)], ("TileOptions", {})),
            ("BROADCAST_TO", [np.array(shape, np.int32)], ("BroadcastToOptions", {})),
            ("RELU", [], None), ("RELU6", [], None), ("MAXIMUM", ["again"], ("MaximumMinimumOptions", {})),
            ("SQUEEZE", [], ("SqueezeOptions", {})), ("CAST", [], ("CastOptions", {})),
        ]
    )  # fmt: skip
    operands = [inputs[position]]
    for values in more:
        if isinstance(values, str):
            operands.append(inputs[position])
            continue
        buffer = add_buffer(model, values.tobytes())
        tensors.append({"name": f"i{len(tensors)}", "shape": [*values.shape], "type": "INT32", "buffer": buffer})
        operands.append(len(tensors) - 1)
    tensors.append({**copy.deepcopy(source), "name": "inserted", "buffer": 0})
    operator = {"opcode_index": number_of(model, op), "inputs": operands, "outputs": [len(tensors) - 1]}
    main["operators"].insert(spot, {**operator, "builtin_options": options})
    inputs[position] = len(tensors) - 1


def set_options(model: Model, chance: random.Random) -> None:
    """Options left out, those of another operator, in the second field, or custom ones."""
    operators = main_of(model)["operators"]
    operator, other = chance.choice(operators), chance.choice(operators)
    way = chance.choice(("none", "other", "second", "custom", "mutated"))
    if way == "none":
        operator["builtin_options"] = None
    elif way == "other":
        operator["builtin_options"] = copy.deepcopy(other.get("builtin_options"))
    elif way == "second":
        operator["builtin_options_2"] = ("StablehloConcatenateOptions", {"dimension": 1})
    elif way == "custom":
        operator["custom_options"] = [1, 2, 3]
    else:
        operator["mutating_variable_inputs"] = [chance.random() < 0.5 for _ in operator["inputs"]]


def set_ends(model: Model, chance: random.Random) -> None:
    """Another inner tensor as a further output, an output twice, or ends in another order."""
    main = main_of(model)
    way = chance.choice(("more", "twice", "turn", "input"))
    if way == "more":
        main["outputs"] = [*main["outputs"], chance.randrange(len(main["tensors"]))]
    elif way == "twice":
        main["outputs"] = [*main["outputs"], main["outputs"][0]]
    elif way == "turn":
        main["inputs"] = main["inputs"][::-1]
    else:
        main["inputs"] = [*main["inputs"], chance.randrange(len(main["tensors"]))]


def set_dimension(model: Model, chance: random.Random) -> None:
    """The axis of scales, or details of a quantization."""
    tensors = [t for t in main_of(model)["tensors"] if (t.get("quantization") or {}).get("scale")]
    stored = chance.choice(tensors)["quantization"]
    if chance.random() < 0.7:
        stored["quantized_dimension"] = chance.randrange(4)
    else:
        stored["details"] = ("CustomQuantization", {"custom": [1, 2]})


EDITS: dict[str, Callable[[Model, random.Random], None]] = {
    "move operators": move_operators, "renumber": renumber, "share buffers": share_buffers,
    "move buffers": move_buffers, "unused": add_unused, "scale channels": scale_channels, "scale": scale_all,
    "version": set_version, "metadata": add_metadata, "subgraph": add_subgraph, "variable": make_variable,
    "sparse": make_sparse, "type": retype, "open sizes": open_sizes, "external": set_external,
    "weights": permute_weights, "shape of a constant": reshape_constant, "operand": drop_operand,
    "operator": exchange_operator, "insert": insert_operator, "options": set_options, "ends": set_ends,
    "dimension": set_dimension,
}  # fmt: skip
