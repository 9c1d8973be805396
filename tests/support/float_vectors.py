"""Rows of the real float kernels: the call of each, and what its run showed."""

from __future__ import annotations

import csv
import gzip
import json
from math import prod
from pathlib import Path

import pytest

from onnxlint_cmsis.cmsis_nn.library import Route, route
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.ground.types import AS_ASKED, Dims, FloatCall, KernelCall, Pair, Target
from support import paths

Row = dict[str, str]

SHARED = paths.SHARED / "vectors" / "float" / "vectors.csv.gz"
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="the float vectors are not beside the project")
VECTORS = [
    pytest.param(paths.DATA / "float_sample.csv.gz", id="sample"),
    pytest.param(SHARED, id="all", marks=[needs_shared, pytest.mark.nightly]),
]
"""Files of vectors: a sample in the project, and all of them."""

ENTRIES = {
    "arm_convolve_wrapper": "convolve",
    "arm_convolve_1x1": "convolve_1x1",
    "arm_convolve_1_x_n": "convolve_1_x_n",
    "arm_depthwise_conv_wrapper": "depthwise",
    "arm_transpose_conv_wrapper": "transpose_conv",
    "arm_avg_pool": "avgpool",
    "arm_nn_activation": "activation",
}
"""Entry points that are not named after their function."""
ACTIVATIONS = ("NONE", "SIGMOID", "TANH", "RELU", "RELU6", "HARDSWISH", "LEAKY_RELU")
FIRST_ACTIVATION = 32
"""ARM_NN_FLT_ACT_NONE (arm_nn_types_flt.h)."""


def rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def target_of(row: Row) -> Target:
    target = parse_target(row["cpu"], "main")
    return target._replace(specialized=row["specialization"] == "on")


def _number(row: Row, name: str, default: int = 0) -> int:
    return int(row[name] or default)


def _dims(row: Row, name: str) -> Dims:
    return Dims(*(_number(row, f"{name}_{axis}") for axis in "nhwc"))


def _pair(row: Row, name: str, default: int) -> Pair:
    return Pair(_number(row, f"{name}_h", default), _number(row, f"{name}_w", default))


def call_of(row: Row) -> KernelCall:
    """The call of a row. Element-wise functions have their elements as channels, softmax its rows as images."""
    name, _, kind = row["function"].rpartition("_")
    entry = f"{ENTRIES.get(name, name.removeprefix('arm_'))}_{kind}"
    extra = json.loads(row["extra"] or "{}")
    given, filter_dims, result = (_dims(row, part) for part in ("in", "filter", "out"))
    pad_front = Dims(0, 0, 0, 0)
    if "size" in extra:
        given = filter_dims = result = Dims(1, 1, 1, extra["size"])
    elif "rows" in extra:
        given = result = Dims(extra["rows"], 1, 1, extra["row_size"])
    elif "hidden" in extra:
        given = Dims(extra["batch"], 1, extra["steps"], extra["input_size"])
        result = given._replace(c=extra["hidden"])
    elif entry.startswith("pad"):
        pad_front = filter_dims
        result = Dims(*(a + b + c for a, b, c in zip(given, filter_dims, result, strict=True)))
    offsets = [int(part) for part in extra.get("padding_offsets", "0x0").split("x")]
    tags = row["case_tags"].split(";")
    scratch = AS_ASKED if row["ctx_mode"] == "as_asked" else _number(row, "ctx_bytes")
    if entry.startswith("svdf"):  # its two buffers have no size function
        scratch = 0 if "no_buffer" in tags else 1
        given, filter_dims = Dims(given.n, 1, 1, given.h), filter_dims._replace(h=extra["memory"], c=given.h)
    runs = ()
    if "axis" in extra:  # x, y, z, w: each copies more of the operand's last axes
        sizes = [size or 0 for size in reversed(given)]
        runs, result = (prod(sizes[: "xyzw".index(extra["axis"]) + 1]),), given
    return KernelCall(
        entry, given, filter_dims, result,
        _pair(row, "stride", 1), _pair(row, "pad", 0), _pair(row, "pad_after", 0), _pair(row, "dilation", 1),
        ch_mult=_number(row, "ch_mult"),
        bias="bias_NULL" not in tags and (entry.startswith("batch_norm") or row["bias"] == "1"),
        initial_state="initial_cell_state" in tags,
        permutation=tuple(int(axis) for axis in extra["perm"].split()) if "perm" in extra else (),
        pad_front=pad_front,
        runs=runs,
        floating=FloatCall(
            packed=row["weight_format"] == "packed",
            scratch=scratch,
            clamped=row["act_min_max"] != "none",
            activation=FIRST_ACTIVATION + ACTIVATIONS.index(extra["type"]) if "type" in extra else 0,
            adj_x=bool(extra.get("adj_x")),
            adj_y=bool(extra.get("adj_y")),
            padding_offset=Pair(offsets[0], offsets[1]),
        ),
    )  # fmt: skip


def taken_by(row: Row) -> Route:
    return route(call_of(row), target_of(row))


PRODUCTS = ("arm_nn_mat_mult_nt_n_packed", "arm_nn_mat_mult_nt_t")
WAYS: dict[str, tuple[tuple[str | tuple[str, ...], ...], ...]] = {
    "arm_convolve": (
        ("arm_nn_conv1d_k5_packed",),
        ("arm_nn_conv1d_k5_nhwc",),
        ("arm_nn_conv1d_k3_packed",),
        ("arm_nn_conv1d_k3_nhwc",),
        ("arm_convolve_1x1_nhwc", "arm_convolve_1x1_nhwc_patch_gemm", PRODUCTS),
        ("arm_convolve_1x1_nhwc", PRODUCTS),
        ("arm_convolve_1_x_n_nhwc",),
        ("arm_convolve_nhwc_patch_gemm", PRODUCTS),
        ("arm_convolve_nhwc",),
    ),
    "arm_depthwise": (
        ("arm_nn_depthwise_conv1d_k3_nhwc",),
        ("arm_nn_depthwise_conv2x5_nhwc",),
        ("arm_nn_depthwise_conv3x3_nhwc", ("depthwise_conv3x3_nhwc_valid", "depthwise_conv3x3_nhwc_generic")),
        ("arm_depthwise_conv_nhwc_fast_chmult1_kc_nt_t", "arm_nn_depthwise_conv_nt_t"),
        ("arm_depthwise_conv_*_generic",),
        ("arm_depthwise_conv_nhwc_fast_chmult1_kc",),
        ("arm_depthwise_conv_nhwc_to_conv_packed", "arm_nn_mat_mult_nt_n_packed"),
    ),
    "arm_fully_connected": (("arm_fully_connected_nhwc", PRODUCTS),),
    "arm_batch_matmul": (
        ("arm_batch_matmul", PRODUCTS),
        *(
            ("arm_batch_matmul", f"dot_{kind}_strided_*_{code}")
            for kind in ("contig", "strided")
            for code in ("mve", "scalar")
        ),
    ),
    "arm_max_pool": (
        ("arm_nn_maxpool1d_k2s2_nhwc",),
        ("arm_nn_maxpool1d_k2s2_nhwc_noclip",),
        ("arm_nn_maxpool1d_k3s3_nhwc",),
        ("arm_max_pool",),
    ),
    "arm_softmax": (("arm_nn_softmax_1x2",), ("arm_softmax",)),
}
"""Functions that tell each way through an entry point, without their type: the first way all of whose functions ran."""


def seen_chain(row: Row) -> tuple[str, ...]:
    """The functions that decide what was run, from the trace of a run that returned success."""
    function, _, kind = row["function"].rpartition("_")
    if function == "arm_concatenation":
        return (f"arm_concatenation_{kind}_[wxyz]",)
    if function == "arm_transpose_conv_wrapper":
        return (f"{function}_{kind}",)
    ran = row["inner_kernels"].split("|")
    stem = next((stem for stem in WAYS if function.startswith(stem)), "")
    for way in WAYS.get(stem, ((function,),)):
        steps = [(step,) if isinstance(step, str) else step for step in way]
        full = [[name.replace("*", kind) if "*" in name else f"{name}_{kind}" for name in step] for step in steps]
        taken = [next((name for name in step if name in ran), "") for step in full]
        if all(taken):
            return tuple(taken)
    return ()


def said_chain(taken: Route) -> tuple[str, ...]:
    """The same of a route."""
    static = () if not taken.effective or taken.effective in taken.chain else (taken.effective,)
    return (*taken.chain, *static)
