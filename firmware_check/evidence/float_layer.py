"""A call of a function for f32 or f16 as a layer of firmware, on random numbers."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from firmware_check.evidence.call_layer import CallStep
from firmware_check.evidence.float_calls import Data
from firmware_check.float_arithmetic import FloatOutput, float_output
from firmware_check.program import FLOAT_NUMBERS, Array, Elements, FloatNumbers, FloatOperands, Step, Value
from firmware_check.reading.float_numbers import held, weight_arrays
from onnxlint_cmsis.cmsis_nn.tables import wrapper_of
from onnxlint_cmsis.ground.types import KernelCall

_BEHIND = 64
"""Elements behind each operand: large numbers, so that a kernel that reads on is seen."""


_FAR = 999.0


def float_step(label: str, call: KernelCall, kind: str, data: Data, seed: int = 1) -> CallStep:
    """The layer of a call without its type; its numbers follow from the seed."""
    numbers = FLOAT_NUMBERS[kind]
    call = call._replace(entry=f"{call.entry}_{kind}")
    stem = call.entry.removesuffix(f"_{kind}")
    generator = np.random.default_rng(seed)
    given = call.input_dims, *((call.filter_dims,) if _second_activation(stem, call) else ())
    sources = [_drawn(generator, numbers, prod(size or 0 for size in dims), data) for dims in given]
    operands = _operands(stem, call, numbers, generator, data)
    arrays = _arrays(stem, call, numbers, operands)
    if stem in ("lstm_unidirectional", "svdf"):
        arrays = _recurrent(stem, call, numbers, generator, data)
    values = tuple(
        _value(f"x{number}", number, source.size + _BEHIND, numbers) for number, source in enumerate(sources)
    )
    output = _value("y", len(sources), max(1, prod(size or 0 for size in call.output_dims)), numbers)
    function = wrapper_of(call.entry).function
    limits = (-numbers.largest, numbers.largest)
    step = Step(
        label, stem, stem, values, output, call, function, arrays, {"limits": limits, **_macro_numbers(stem, call)},
        operands=operands,
    )  # fmt: skip
    exact = float_output(step, sources) if _is_computed(stem, call) else None
    if stem == "lstm_unidirectional":
        exact = _recurrent_output(call, sources[0], {array.name: array.values for array in arrays}, numbers)
    behind = np.full(_BEHIND, _FAR)
    return CallStep(step, tuple(np.append(source, behind).astype(numbers.dtype) for source in sources), exact)


def _second_activation(stem: str, call: KernelCall) -> bool:
    packed = call.floating is not None and call.floating.packed
    return stem in ("maximum", "minimum", "elementwise_add") or (stem == "batch_matmul" and not packed)


def _is_computed(stem: str, call: KernelCall) -> bool:
    """Tell if sizes belong together, so that there is something to compare with; a grouped layer has its groups."""
    if stem == "pad":
        return not any((amount or 0) < 0 for amount in call.pad_front)
    if stem == "batch_norm":
        return call.bias
    return not (stem == "fully_connected" and call.filter_dims.n != call.input_dims.c) and 0 not in call.input_dims


def _drawn(generator: np.random.Generator, numbers: FloatNumbers, count: int, data: Data) -> Elements:
    values = generator.uniform(data.low, data.high, count)
    if data.first is not None and count:
        values[0] = data.first
    return held(numbers, values)


def _operands(
    stem: str, call: KernelCall, numbers: FloatNumbers, generator: np.random.Generator, data: Data
) -> FloatOperands | None:
    """Weights in the function's standard order and a bias; the factors of a normalization; a packed right side."""
    shape: tuple[int, ...] = tuple(size or 0 for size in call.filter_dims)
    out_c = call.output_dims.c or 0
    if stem == "fully_connected":
        shape = (out_c, call.filter_dims.n or 0)
    elif stem == "batch_matmul" and call.floating is not None and call.floating.packed:
        shape = (shape[0] * shape[1], shape[3], shape[2])
    elif stem == "batch_norm":
        shape = (out_c,)
    elif stem not in ("convolve", "convolve_1x1", "convolve_1_x_n", "depthwise", "transpose_conv"):
        return None
    weights = held(numbers, generator.uniform(*data.weights, shape))
    biased = call.bias and stem != "batch_matmul"
    return FloatOperands(weights, held(numbers, generator.uniform(-1, 1, out_c)) if biased else None)


def _arrays(stem: str, call: KernelCall, numbers: FloatNumbers, operands: FloatOperands | None) -> tuple[Array, ...]:
    if operands is None:
        return ()
    if stem == "batch_norm":
        bias = () if operands.bias is None else (Array("bias", numbers.c_type, operands.bias),)
        return Array("scale", numbers.c_type, operands.weights), *bias
    if stem == "batch_matmul":  # each matrix in blocks of its own
        parts = [weight_arrays(call, numbers, operands._replace(weights=matrix))[0] for matrix in operands.weights]
        return (_followed(Array("weights", numbers.c_type, np.concatenate([part.values for part in parts]))),)
    weights, *bias_array = weight_arrays(call, numbers, operands)
    return _followed(weights), *bias_array


GATES = ("forget", "input", "cell", "output")
"""Gates of an LSTM in the names of its arrays."""


_BIASES = {"forget": -8.0, "input": 0.0, "output": 8.0}
"""Biases with which the tanh of the cell gate is what is seen."""


_LSTM_ROUNDINGS = {"f32": 1e-3, "f16": 6e-2}
"""What a result of an LSTM may be off by: its tanh (0.00068 and 0.025), which it takes twice, and roundings."""


def _recurrent(
    stem: str, call: KernelCall, numbers: FloatNumbers, generator: np.random.Generator, data: Data
) -> tuple[Array, ...]:
    """Weights of an LSTM whose cell gate is the data's; those of a filter."""
    features, hidden = call.input_dims.c or 0, call.output_dims.c or 0
    if stem == "svdf":
        sizes = {"features": (call.filter_dims.n or 0) * (call.input_dims.h or 0), "times": 8}
        drawn = {name: generator.uniform(-1, 1, size) for name, size in sizes.items()}
    else:
        drawn = {"state": np.ones(hidden)} if call.initial_state else {}
        for gate in GATES:
            bias = generator.uniform(data.low, data.high, hidden) if gate == "cell" else np.full(hidden, _BIASES[gate])
            drawn[f"{gate}_bias"] = bias if not call.initial_state else np.zeros(hidden)
            drawn[f"{gate}_input"] = np.zeros((hidden, features))
            drawn[f"{gate}_hidden"] = np.zeros((hidden, hidden))
    return tuple(Array(name, numbers.c_type, held(numbers, values).reshape(-1)) for name, values in drawn.items())


def _recurrent_output(
    call: KernelCall, source: Elements, arrays: Mapping[str, Elements], numbers: FloatNumbers
) -> FloatOutput:
    """An LSTM of one sequence in double precision, from its initial state."""
    features, hidden = call.input_dims.c or 0, call.output_dims.c or 0
    cell, state, outputs = arrays.get("state", np.zeros(hidden)), np.zeros(hidden), []
    for row in source.reshape(-1, features):
        sums = [
            arrays[f"{gate}_input"].reshape(hidden, features) @ row
            + arrays[f"{gate}_hidden"].reshape(hidden, hidden) @ state
            + arrays[f"{gate}_bias"]
            for gate in GATES
        ]
        forget, given, _, shown = (1 / (1 + np.exp(-total)) for total in sums)
        cell = forget * cell + given * np.tanh(sums[2])
        state = shown * np.tanh(cell)
        outputs.append(state)
    values = np.concatenate(outputs)
    return FloatOutput(values, np.full(values.shape, _LSTM_ROUNDINGS["f32" if numbers.bits == 32 else "f16"]))


def _followed(weights: Array) -> Array:
    return Array(weights.name, weights.c_type, np.append(weights.values, np.full(_BEHIND, _FAR)))


def _macro_numbers(stem: str, call: KernelCall) -> dict[str, object]:
    """Numbers of the template's macro."""
    if stem == "softmax":
        return {"rows": call.input_dims.n, "row": call.input_dims.c}
    if stem == "pad":
        result, size, front = (
            [number or 0 for number in dims] for dims in (call.output_dims, call.input_dims, call.pad_front)
        )
        after = [out - own - before for out, own, before in zip(result, size, front, strict=True)]
        return {"size": size, "before": front, "after": after, "fill": 0.0}
    if stem == "elementwise_add":
        return {"block": call.input_dims.c}
    return {"slope": 0.01, "constant": None}


def _value(name: str, buffer: int, count: int, numbers: FloatNumbers) -> Value:
    return Value(name, buffer, (count,), (0,), numbers)
