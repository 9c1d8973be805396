"""The parts of the firmware check that need no compiler: constants, layouts, memory plan, library recognition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import example_models as models
from firmware_check import reference
from firmware_check.arena import plan
from firmware_check.layer_trace import observe
from firmware_check.library import Library, recognise
from firmware_check.program import Program, Quantization, Step, Value
from firmware_check.quantized_constants import add_constants, softmax_constants
from firmware_check.reading.weighted import reordered_columns
from firmware_check.run import Call
from onnxlint_cmsis.lower.memory_order import lies_in, reshaped, transposed
from onnxlint_cmsis.model.fixed_point import quantize_multiplier
from support.firmware_signatures import EverythingLibrary

REAL = Quantization(0.5, 3)


@given(st.floats(2.0**-30, 2.0**30, allow_nan=False))
def test_a_multiplier_is_the_nearest_in_q31(real: float) -> None:
    value, shift = quantize_multiplier(real)
    assert 1 << 30 <= value < 1 << 31
    assert abs(value * 2.0 ** (shift - 31) / real - 1) <= 2.0**-31


def test_multipliers_of_tensorflow_lite() -> None:
    assert quantize_multiplier(1.0) == (1 << 30, 1)
    assert quantize_multiplier(0.25) == (1 << 30, -1)
    assert quantize_multiplier(0.0) == (0, 0)
    assert quantize_multiplier(2.0**-40) == (0, 0)
    assert quantize_multiplier(1 - 2.0**-40) == (1 << 30, 1)  # rounds up to the next power of two


def test_constants_of_tensorflow_lite_kernels() -> None:
    # scale 1/16: 2^26 / 16 = 2^22 = 2^30 * 2^-31 * 2^23, so the shift is 23 and the radius 31 * 2^26 / 2^23 = 248
    assert softmax_constants(1 / 16) == ((1 << 30, 23), -248)
    assert add_constants(0.5, 0.25, 1.0) == ((1 << 30, 0), (1 << 30, -1), (1 << 30, -19))


def test_multiplier_of_a_softmax_of_sixteen_bits() -> None:
    # scale 10/65535 needs none: 1 = 2^30 * 2^-31 * 2^1
    assert reference.multiplier(10 / 65535) == (1 << 30, 1)
    assert reference.multiplier(20 / 65535) == (1 << 30, 2)


@pytest.mark.parametrize(
    ("table", "curve", "first", "ends"),
    [
        (reference.exponentials(), np.exp, -10.0, (2, 32767)),  # exp(-10) is 1.49, moved up by 1 for the middle
        (reference.reciprocals(), lambda x: 1 / (1 + x), 0.0, (32767, 16384)),
    ],
    ids=["exponentials", "reciprocals"],
)
def test_tables_of_a_softmax_of_sixteen_bits(table, curve, first: float, ends: tuple[int, int]) -> None:
    assert table.shape == (513,)
    assert (table[0], table[-1]) == ends
    steps = np.diff(table)
    assert (steps >= 0).all() or (steps < 0).all()
    places = np.linspace(first, 1.0 if first == 0 else 0.0, 513)
    assert np.abs(table - 32768 * curve(places)).max() <= 2
    middles = (places[1:] + places[:-1]) / 2
    assert np.abs((table[1:] + table[:-1]) / 2 - 32768 * curve(middles)).max() <= 2


def test_reordering_is_that_of_arms_guide() -> None:
    """T of {2,3,4} in C, H, W order lies in memory as W, H, C; the columns of W of {2,24} follow it."""
    generator = np.random.default_rng(0)
    tensor, weights = generator.integers(-9, 9, (2, 3, 4)), generator.integers(-9, 9, (2, 24))
    expected = weights.reshape(2, 2, 3, 4).transpose(0, 3, 2, 1).reshape(2, 24)
    value = reshaped(Value("t", 0, (1, 2, 3, 4), (0, 3, 2, 1), REAL), (1, 24))
    reordered = reordered_columns(value, weights)
    assert reordered is not None
    assert (reordered == expected).all()
    memory = tensor.transpose(2, 1, 0).reshape(24)
    assert (value.to_memory(tensor.reshape(1, 24)) == memory).all()
    assert (reordered @ memory == weights @ tensor.reshape(24)).all()


@given(st.permutations(range(4)), st.permutations(range(4)), st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_views_read_the_same_memory(order: list[int], permutation: list[int], shape: list[int]) -> None:
    value = Value("t", 0, tuple(shape), tuple(order), REAL)
    array = np.arange(value.count).reshape(shape)
    memory = value.to_memory(array)
    assert (value.from_memory(memory) == array).all()
    turned = transposed(value, tuple(permutation))
    assert (turned.from_memory(memory) == array.transpose(permutation)).all()
    flat = reshaped(value, (value.count,))
    assert (flat.from_memory(memory) == array.reshape(-1)).all()


def test_axes_of_size_one_have_no_place() -> None:
    assert lies_in(Value("t", 0, (1, 8, 1, 1), (0, 2, 3, 1), REAL), (0, 1, 2, 3))
    assert not lies_in(Value("t", 0, (1, 8, 2, 1), (0, 2, 3, 1), REAL), (0, 1, 2, 3))


def chain(sizes: list[int], in_place: list[bool]) -> tuple[Program, list[Value]]:
    """A straight chain of layers over values of these sizes."""
    values = [Value(f"t{n}", n, (size,), (0,), REAL) for n, size in enumerate(sizes)]
    steps = [
        Step(f"s{n}", "Relu", "reference_requantize", (values[n],), values[n + 1], in_place=in_place[n % len(in_place)])
        for n in range(len(values) - 1)
    ]
    return Program((values[0],), tuple(steps), (values[-1],)), values


@given(
    st.lists(st.integers(1, 300), min_size=2, max_size=8), st.lists(st.booleans(), min_size=1, max_size=8),
    st.sampled_from([0, 128]),
)  # fmt: skip
def test_values_that_live_together_do_not_overlap(sizes: list[int], in_place: list[bool], guard: int) -> None:
    program, values = chain(sizes, in_place)
    arena = plan(program, guard)
    for step in program.steps:
        (start, low), (end, high) = sorted(
            (arena.offsets[value.buffer], value.bytes) for value in (step.inputs[0], step.output)
        )
        in_one_block = step.in_place and start == end and low == high
        assert in_one_block or start + low + 2 * guard <= end
    assert all(arena.offsets[value.buffer] + value.bytes + guard <= arena.size for value in values)


def test_equal_sizes_in_place_take_one_block() -> None:
    program, _ = chain([64, 64, 64], [True])
    assert plan(program).size == 64
    program, _ = chain([64, 64, 64], [False])
    assert plan(program).size == 128


HEADERS = {
    "4.0.0": ("arm_cmsis_nn_status arm_convolve_wrapper_s8(int);", ""),
    "4.1.0": ("int32_t arm_convolve_wrapper_s8_get_buffer_size_mve(int);", ""),
    "5.0.0": ("int arm_convolve_wrapper_s4(int);", ""),
    "6.0.0": ("int arm_convolve_wrapper_s4(int);", "} cmsis_nn_bias_data;"),
    "7.0.0": ("int f(const cmsis_nn_dims *upscale_dims);", "} cmsis_nn_bias_data;"),
    "main": ("int f(const cmsis_nn_dims *upscale_dims);", "void *hidden_state;"),
}


@pytest.mark.parametrize("release", HEADERS)
def test_a_release_is_recognised_from_its_headers(release: str, tmp_path: Path) -> None:
    include = tmp_path / "Include"
    include.mkdir()
    for name, text in zip(("arm_nnfunctions.h", "arm_nn_types.h"), HEADERS[release], strict=True):
        (include / name).write_text(text, encoding="utf-8")
    assert recognise(tmp_path) == release


def test_files_follow_from_functions(tmp_path: Path) -> None:
    source = tmp_path / "Source"
    source.mkdir()
    (source / "a.c").write_text("/* arm_c() */\nint32_t arm_a(\n    int x)\n{ return arm_b(x); }\n", encoding="utf-8")
    (source / "b.c").write_text(
        "static int arm_s(int x) { return x; }\nint arm_b(int x) { return arm_s(x); }\n", encoding="utf-8"
    )
    (source / "c.c").write_text(
        "int arm_c(int x) { return x; }\n__STATIC_INLINE int32_t\narm_i(int x)\n{ return x; }\n", encoding="utf-8"
    )
    library = Library(tmp_path, "7.0.0", (), "here")
    files = library.files_for({"arm_a"})
    assert [path.name for path in files] == ["a.c", "b.c"]
    assert library.public_in(files) == ["arm_a", "arm_b"]
    assert not library.has("arm_s")
    assert not library.has("arm_i")  # as the size functions of 7.0.0 have it


@pytest.mark.parametrize("table", ["sigmoidTable_q7", "exp_table_one"])
def test_files_of_tables_follow_from_functions(table: str, tmp_path: Path) -> None:
    source = tmp_path / "Source"
    source.mkdir()
    (source / "a.c").write_text(f"int arm_a(int x)\n{{ return {table}[x]; }}\n", encoding="utf-8")
    (source / "b.c").write_text(f"const q7_t {table}[256] = {{0}};\n", encoding="utf-8")
    library = Library(tmp_path, "cmsis5-5.9.0", (), "here")
    files = library.files_for({"arm_a"})
    assert [path.name for path in files] == ["a.c", "b.c"]
    assert library.public_in(files) == ["arm_a"]


def test_a_function_that_both_sources_of_the_trace_saw_counts_once() -> None:
    names = {
        16: ("arm_depthwise_conv_wrapper_s8", True),
        32: ("arm_depthwise_conv_s8", True),
        48: ("depthwise_conv_s8_generic.isra.0", False),
    }
    calls = {
        1: Call(0, 16, 1, 1, 0, 0), 2: Call(1, 16, 1, 0, 0, 0), 3: Call(2, 32, 1, 1, 0, -1), 4: Call(3, 48, 2, 0, 0, 0),
    }  # fmt: skip
    seen = observe(calls, names, frozenset({"arm_depthwise_conv_wrapper_s8", "arm_depthwise_conv_s8"}))
    assert [(call.name, call.depth, call.status) for call in seen.tree] == [
        ("arm_depthwise_conv_wrapper_s8", 0, 0), ("arm_depthwise_conv_s8", 1, -1),
        ("depthwise_conv_s8_generic", 2, None),
    ]  # fmt: skip
    assert seen.chain == ("arm_depthwise_conv_s8",)
    assert seen.effective == "depthwise_conv_s8_generic"


def test_a_static_function_is_no_kernel_of_the_chain() -> None:
    """Those of arm_transpose_s8.c are named as kernels are; a clone that the compiler makes of a kernel stays one."""
    names = {16: ("arm_transpose_s8", True), 32: ("arm_transpose_s8_default", False), 48: ("arm_pad_s8.part.0", False)}
    calls = {1: Call(0, 16, 1, 1, 0, 0), 2: Call(1, 32, 1, 1, 0, 0), 3: Call(0, 48, 1, 1, 0, 0)}
    seen = observe(calls, names, frozenset())
    assert [call.name for call in seen.tree] == ["arm_transpose_s8", "arm_transpose_s8_default", "arm_pad_s8"]
    assert seen.chain == ("arm_transpose_s8", "arm_pad_s8")


def test_the_transpose_of_weights_is_no_kernel_of_the_layer() -> None:
    """arm_depthwise_conv_to_conv_s8 turns the weights before it calls the convolution that does the work."""
    names = {
        16: ("arm_depthwise_conv_wrapper_s8", True), 32: ("arm_transpose_s8", True),
        48: ("arm_transpose_s8_default", False), 64: ("arm_convolve_s8", True),
    }  # fmt: skip
    inside = [(0, 16), (1, 32), (2, 48), (1, 64)]
    calls = {number: Call(parent, address, 1, 1, 0, 0) for number, (parent, address) in enumerate(inside, 1)}
    assert observe(calls, names, frozenset()).chain == ("arm_convolve_s8",)
    alone = {1: Call(0, 32, 1, 1, 0, 0), 2: Call(1, 48, 1, 1, 0, 0)}
    assert observe(alone, names, frozenset()).chain == ("arm_transpose_s8",)


@pytest.mark.parametrize("release", ["4.0.0", "5.0.0", "6.0.0", "7.0.0", "main"])
def test_the_generated_c_follows_the_release(release: str, tmp_path: Path) -> None:
    from firmware_check.boards import BOARDS
    from firmware_check.emit import model_source
    from firmware_check.opening import Options, open_model

    pytest.importorskip("jinja2")
    library = EverythingLibrary(release)
    library.origin = "here"  # type: ignore[attr-defined]
    model = open_model(models.residual(tmp_path), library, Options({}), tmp_path)  # type: ignore[arg-type]
    text = model_source(model.program, plan(model.program), BOARDS[-1], library, "t")  # type: ignore[arg-type]
    wrapper, sums = "arm_fully_connected_wrapper_s8(&ctx", "arm_vector_sum_s8(ctx.buf, filter_dims.n, output_dims.c"
    assert (wrapper in text) == (release in ("7.0.0", "main"))
    assert (sums in text) == (release != "4.0.0")
    assert ("fc_params.filter_offset, layer_" in text) == (release in ("7.0.0", "main"))
    assert "arm_elementwise_add_s8(" in text


def test_a_report_that_lacks_a_layer_is_said() -> None:
    from firmware_check.boards import BOARDS
    from firmware_check.errors import FirmwareError
    from firmware_check.run import layer_reports

    assert len(layer_reports([LAYER, "done"], BOARDS[0], 1)) == 1
    with pytest.raises(FirmwareError, match="reported 1 of 2 layers: something overwrote its memory"):
        layer_reports([LAYER, "done"], BOARDS[0], 2)


LAYER = "layer 00000000 00000000 00000001" + 8 * " 00000000"


@pytest.mark.parametrize(
    "line",
    [
        LAYER[:-1], f"{LAYER} 00000000", LAYER.replace("layer", "lawyer"), LAYER.replace("layer 0", "layer x"),
        LAYER.replace("layer 00000000", "layer 00000001"), "call " + 8 * "f", "\ufffd", "layer", "read 0 0 0",
    ],
)  # fmt: skip
def test_a_report_that_is_damaged_is_said(line: str) -> None:
    from firmware_check.boards import BOARDS
    from firmware_check.errors import FirmwareError
    from firmware_check.run import layer_reports

    with pytest.raises(FirmwareError, match="report is damaged: something overwrote its memory"):
        layer_reports([LAYER, line, "done"], BOARDS[0], 1)


def test_labels_of_a_table_are_distinct_and_printable() -> None:
    from firmware_check.reports.text import distinct

    long = [f"model/activation_{number}/{'x' * 60}" for number in (1, 10, 11, 2)]
    labels = distinct([*long, "pool\x1b[31m"])
    assert len(set(labels)) == 5
    assert [label.split(": ")[0] for label in labels[1:3]] == ["1", "2"]
    assert labels[4] == "pool\\x1b[31m"
