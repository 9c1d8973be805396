"""Loads mutated models: FOLDER SEED COUNT. Prints each before it is loaded, so that a crash names its model."""

from __future__ import annotations

import random
import resource
import signal
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from onnxlint_cmsis.formats.onnx_graph.load import ModelError, load

EXTREME = [0, -1, 1, 2, -2, 7, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63)]
SIZES = [0, 1, 3, 2**31 - 1]
REALS = [0.0, -1.0, 0.5, float("nan"), float("inf"), 1e30]
SECONDS = 20
MEMORY = 4 << 30


def attribute(proto: onnx.ModelProto, chance: random.Random) -> None:
    """One attribute of one node."""
    found = [a for node in proto.graph.node for a in node.attribute]
    if not found:
        return
    target = chance.choice(found)
    if target.type == onnx.AttributeProto.INT:
        target.i = chance.choice(EXTREME)
    elif target.type == onnx.AttributeProto.INTS:
        values = [chance.choice(EXTREME) for _ in range(chance.choice([0, 1, len(target.ints), 5]))]
        del target.ints[:]
        target.ints.extend(values)
    elif target.type == onnx.AttributeProto.FLOAT:
        target.f = chance.choice(REALS)
    elif target.type == onnx.AttributeProto.STRING:
        target.s = chance.choice([b"", b"SAME_UPPER", b"x", b"\xff"])
    if chance.random() < 0.1:
        target.type = chance.choice([0, 1, 2, 3, 4, 5, 6, 7, 11])


def shape(proto: onnx.ModelProto, chance: random.Random) -> None:
    """Size or rank of one input."""
    if not proto.graph.input:
        return
    dims = chance.choice(proto.graph.input).type.tensor_type.shape.dim
    action = chance.randrange(3)
    if action == 0 and dims:
        dims[chance.randrange(len(dims))].dim_value = chance.choice(SIZES)
    elif action == 1 and dims:
        del dims[chance.randrange(len(dims)) :]
    else:
        for _ in range(chance.choice([1, 4, 9])):
            dims.add().dim_value = chance.choice([0, 1, 2])


def operand(proto: onnx.ModelProto, chance: random.Random) -> None:
    """Inputs of one node: fewer, none, or exchanged."""
    found = [node for node in proto.graph.node if node.input]
    if not found:
        return
    node = chance.choice(found)
    place = chance.randrange(len(node.input))
    if chance.random() < 0.5:
        del node.input[place:]
    else:
        node.input[place] = chance.choice(["", *node.input])


def constant(proto: onnx.ModelProto, chance: random.Random) -> None:
    """An input made an initializer with extreme values."""
    if not proto.graph.input:
        return
    given = chance.choice(proto.graph.input)
    tensor = given.type.tensor_type
    dims = [dim.dim_value for dim in tensor.shape.dim]
    count = int(np.prod(dims, dtype=object)) if dims else 1
    if tensor.elem_type not in (1, 6, 7) or not 0 <= count < 50:
        return
    kind = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    numbers = (
        REALS if tensor.elem_type == 1 else [n for n in [*EXTREME, 3] if np.iinfo(kind).min <= n <= np.iinfo(kind).max]
    )
    values = np.array([chance.choice(numbers) for _ in range(count)], kind).reshape(dims)
    proto.graph.initializer.append(numpy_helper.from_array(values, given.name))


def version(proto: onnx.ModelProto, chance: random.Random) -> None:
    """Another operator set; outputs without shapes."""
    for output in proto.graph.output:
        output.type.tensor_type.ClearField("shape")
    if proto.opset_import and chance.random() < 0.4:
        proto.opset_import[0].version = chance.choice([1, 5, 7, 9, 11, 13, 18, 21, 24])


MUTATIONS = (attribute, attribute, shape, shape, operand, constant, constant, constant, version)


def main(folder: str, seed: str, count: str) -> None:
    """Load `count` mutated models."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    files = sorted(Path(folder).glob("*.onnx"))
    for number in range(int(count)):
        chance = random.Random(int(seed) * 1_000_003 + number)
        path = chance.choice(files)
        proto = onnx.load(path)
        for _ in range(chance.choice([1, 1, 2, 3])):
            chance.choice(MUTATIONS)(proto, chance)
        print(number, path.name, flush=True)
        signal.alarm(SECONDS)
        try:
            load("m.onnx", data=proto.SerializeToString())
        except ModelError:
            continue
    print("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
