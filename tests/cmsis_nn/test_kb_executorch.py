"""Scratch sizes of main against the compiled CMSIS-NN in the ExecuTorch wheel, which knows nothing of our tables.

The module loads alone: `pip install --no-deps --target FOLDER executorch==1.5.1` (CPython 3.11) and point
ONNXLINT_EXECUTORCH at FOLDER.
"""

from __future__ import annotations

import importlib.util
import os
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from onnxlint_cmsis.cmsis_nn.library import Route, route
from onnxlint_cmsis.cmsis_nn.targets import parse_isa
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair

INSIDE = "executorch/backends/cortex_m/library/_cmsis_nn"
SHAPES = 1500
TYPES = {"s8": "A8W8", "s16": "A16W8", "s4": "A8W4"}


def module_file() -> Path | None:
    """The compiled module: under ONNXLINT_EXECUTORCH, or in an installed executorch."""
    folders = [Path(os.environ["ONNXLINT_EXECUTORCH"]) / INSIDE] if "ONNXLINT_EXECUTORCH" in os.environ else []
    spec = importlib.util.find_spec("executorch")
    folders += [Path(folder).parent / INSIDE for folder in (spec.submodule_search_locations or [] if spec else [])]
    return next((file for folder in folders for file in sorted(folder.glob("cmsis_nn*.so"))), None)


FILE = module_file()
EXPECTED = os.environ.get("CI") == "true" and sys.version_info[:2] == (3, 11)
"""scripts/test.sh has to have installed it."""
pytestmark = pytest.mark.skipif(
    FILE is None and not EXPECTED, reason="no executorch==1.5.1 in ONNXLINT_EXECUTORCH or installed"
)


@pytest.fixture(scope="module")
def oracle() -> ModuleType:
    assert FILE is not None
    spec = importlib.util.spec_from_file_location("cmsis_nn", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def backend(oracle: Any, isa: str) -> Any:
    core = {"scalar": oracle.CortexM.M0, "dsp": oracle.CortexM.M4, "mve": oracle.CortexM.M55}[isa]
    return oracle.resolve_backend(core)


def ours(call: KernelCall, isa: str) -> Route:
    return route(call, parse_isa(isa, "main"))


def shape(dims: Dims) -> list[int | None]:
    return [dims.n, dims.h, dims.w, dims.c]


def pair(size: Pair) -> list[int | None]:
    return [size.h, size.w]


def window(draw: random.Random, entry: str, depthwise: bool) -> KernelCall:
    """A random layer, often 1x1 or 1xN, with any padding before and an output that need not match it."""
    in_c, out_c, mult = draw.randint(1, 40), draw.randint(1, 40), draw.choice((1, 1, 2, 3, 4, 8))
    height = draw.choice((1, 1, 2, 7))
    k = Pair(draw.choice((1, 1, height)), draw.choice((1, 1, 2, 3, 5)))
    stride, dilation = (
        Pair(draw.randint(1, 3), draw.randint(1, 3)),
        Pair(draw.choice((1, 1, 2)), draw.choice((1, 1, 2))),
    )
    padding = Pair(draw.choice((0, 0, 1)), draw.choice((0, 0, 1, 2)))
    in_dims = Dims(draw.choice((1, 1, 2)), height, draw.randint(1, 40), in_c)
    fc = in_c if depthwise else draw.choice([in_c, in_c, *(d for d in range(1, in_c + 1) if in_c % d == 0)])
    filter_dims = Dims(1, k.h, k.w, in_c * mult) if depthwise else Dims(out_c, k.h, k.w, fc)
    out_dims = Dims(in_dims.n, draw.choice((1, 1, 3)), draw.randint(1, 40), in_c * mult if depthwise else out_c)
    return KernelCall(
        entry, in_dims, filter_dims, out_dims, stride, padding, Pair(0, 0), dilation, mult if depthwise else 0
    )


@pytest.mark.parametrize("isa", ["scalar", "dsp", "mve"])
@pytest.mark.parametrize("kind", ["s8", "s16", "s4"])
@pytest.mark.parametrize("family", ["convolve", "depthwise"])
def test_windows(oracle: Any, family: str, kind: str, isa: str) -> None:
    draw = random.Random(f"{family}{kind}{isa}")
    for _ in range(SHAPES):
        call = window(draw, f"{family}_{kind}", family == "depthwise")
        sizes: dict[str, Any] = {
            "input_nhwc": shape(call.input_dims),
            "filter_nhwc": shape(call.filter_dims),
            "output_nhwc": shape(call.output_dims),
            "padding_hw": pair(call.padding),
            "stride_hw": pair(call.stride),
            "dilation_hw": pair(call.dilation),
        }
        ask = oracle.convolve_wrapper_buffer_size
        if family == "depthwise":
            ask, sizes["ch_mult"] = oracle.depthwise_conv_wrapper_buffer_size, call.ch_mult
        expected = ask(backend(oracle, isa), getattr(oracle.DataType, TYPES[kind]), **sizes)
        assert ours(call, isa).buffer_size == expected, call


@pytest.mark.parametrize("isa", ["scalar", "dsp", "mve"])
def test_transposed_convolution(oracle: Any, isa: str) -> None:
    draw = random.Random(f"tconv{isa}")
    for _ in range(SHAPES):
        channels, out = draw.randint(1, 40), draw.randint(1, 20)
        in_dims = Dims(1, draw.randint(1, 12), draw.randint(1, 12), channels)
        filter_dims = Dims(out, draw.randint(1, 5), draw.randint(1, 5), channels)
        stride, padding = Pair(draw.randint(1, 4), draw.randint(1, 4)), Pair(draw.randint(0, 2), draw.randint(0, 2))
        out_dims = Dims(1, draw.randint(1, 30), draw.randint(1, 30), out)
        kernel = ours(KernelCall("transpose_conv_s8", in_dims, filter_dims, out_dims, stride, padding), isa)
        sizes = {
            "input_nhwc": shape(in_dims),
            "filter_nhwc": shape(filter_dims),
            "padding_hw": pair(padding),
            "stride_hw": pair(stride),
            "dilation_hw": [1, 1],
        }
        where, kind = backend(oracle, isa), oracle.DataType.A8W8
        first = oracle.transpose_conv_buffer_size(where, kind, **sizes, output_nhwc=shape(out_dims))
        assert kernel.buffer_size == first
        assert kernel.reverse_buffer_size == oracle.transpose_conv_reverse_conv_buffer_size(where, kind, **sizes)


@pytest.mark.parametrize("isa", ["scalar", "dsp", "mve"])
def test_fully_connected(oracle: Any, isa: str) -> None:
    draw = random.Random(f"fc{isa}")
    for _ in range(SHAPES):
        depth, out = draw.randint(1, 300), draw.randint(1, 300)
        dims = Dims(depth, 1, 1, out)
        call = KernelCall("fully_connected_s8", Dims(1, 1, 1, depth), dims, Dims(1, 1, 1, out), per_channel=False)
        expected = oracle.fully_connected_buffer_size(backend(oracle, isa), oracle.DataType.A8W8, shape(dims))
        assert ours(call, isa).buffer_size == expected


@pytest.mark.parametrize("isa", ["scalar", "dsp", "mve"])
@pytest.mark.parametrize("kind", ["s8", "s16"])
def test_average_pooling(oracle: Any, kind: str, isa: str) -> None:
    draw = random.Random(f"avg{kind}{isa}")
    for _ in range(SHAPES):
        width, channels = draw.randint(1, 60), draw.randint(1, 300)
        call = KernelCall(f"avgpool_{kind}", Dims(1, 1, width, channels), Dims(1, 1, 1, 1), Dims(1, 1, width, channels))
        data_type = getattr(oracle.DataType, TYPES[kind])
        assert ours(call, isa).buffer_size == oracle.avgpool_buffer_size(
            backend(oracle, isa), data_type, width, channels
        )


@pytest.mark.parametrize("isa", ["scalar", "dsp", "mve"])
def test_svdf(oracle: Any, isa: str) -> None:
    draw = random.Random(f"svdf{isa}")
    for _ in range(SHAPES):
        dims = Dims(draw.randint(1, 300), 1, 1, draw.randint(1, 300))
        call = KernelCall("svdf_s8", Dims(1, 1, 1, 8), dims, Dims(1, 1, 1, 8))
        expected = oracle.svdf_buffer_size(backend(oracle, isa), oracle.DataType.A8W8, shape(dims))
        assert ours(call, isa).buffer_size == expected
