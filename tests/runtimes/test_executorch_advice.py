"""What to do about calls of a program: each line was done with ExecuTorch's exporter, and the program then ran."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.linter import linted
from support.pte_writer import NHWC, PteWriter


def joined(writer: PteWriter, source: int) -> int:
    parts = writer.add("TensorList", items=[source, source])
    return writer.call("aten::cat.out", (parts,), 1, out=writer.tensor("int8", (1, 4, 5, 5), NHWC))


def leaky(channels: int) -> Callable[[PteWriter, int], int]:
    """A leaky ReLU whose result lies in the order of sizes."""

    def add(writer: PteWriter, _source: int) -> int:
        given = writer.tensor("float32", (1, channels, 5, 5), NHWC)
        return writer.call("aten::leaky_relu.out", (given,), 0.1, out=writer.tensor("float32", (1, channels, 5, 5)))

    return add


def leaky_in_order(writer: PteWriter, _source: int) -> int:
    given = writer.tensor("float32", (1, 2, 5, 5), NHWC)
    return writer.call("aten::leaky_relu.out", (given,), 0.1, out=writer.tensor("float32", (1, 2, 5, 5), NHWC))


def float_convolution(writer: PteWriter, _source: int) -> int:
    given, weights = writer.tensor("float32", (1, 2, 5, 5)), writer.constant([[[[1.0]], [[2.0]]]], "float32")
    window = ((weights,), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    return writer.call("aten::convolution.out", (given,), *window, out=writer.tensor("float32", (1, 1, 5, 5)))


def unknown_curve(name: str) -> Callable[[PteWriter, int], int]:
    return lambda writer, source: writer.call(f"aten::{name}.out", (source,), out=writer.image(1, 2, 5, 5))


@pytest.mark.parametrize(
    ("add", "code", "do"),
    [
        (joined, "CNN402", "Pad each part with zeros to the whole"),
        (leaky(1), "CNN401", "Compute it on x.reshape(1, -1)"),
        (leaky(2), "CNN401", "Nothing mends it in this file"),
        (leaky_in_order, "CNN403", "Train with nn.ReLU, nn.SiLU or nn.GELU"),
        (float_convolution, "CNN403", "Nothing: it runs, slower"),
        (unknown_curve("hardswish"), "CNN401", "Register a kernel of it with the application, or train with nn.SiLU"),
        (unknown_curve("erfinv"), "CNN401", "Register a kernel of it with the application."),
    ],
    ids=["cat", "one channel", "two orders", "curve", "sizes in order", "hardswish", "other"],
)
def test_a_call_beside_the_backend_has_what_was_done_about_it(
    add: Callable[[PteWriter, int], int], code: str, do: str
) -> None:
    writer = PteWriter()
    image = writer.image(1, 2, 5, 5)
    writer.inputs.append(image)
    writer.outputs.append(writer.convolution(image, (1, 2, 5, 5), (1, 2, 5, 5), 1, 0))
    writer.outputs.append(add(writer, image))
    result = linted(writer.data(), "m.pte", targets=["cortex-m4"])
    remedies = [finding.remedy for finding in result.findings if finding.code == code]
    assert [remedy[: len(do)] for remedy in remedies] == [do]


def test_a_program_whose_convolutions_all_lie_in_the_order_of_sizes_is_to_be_exported_again() -> None:
    writer = PteWriter()
    given, scale = writer.tensor("float32", (1, 2, 5, 5)), (0.5, 3, -128, 127, 1)
    stored = writer.tensor("int8", (1, 2, 5, 5))
    writer.call("cortex_m::quantize_per_tensor.out", (given,), *scale, out=stored)
    writer.outputs.append(float_convolution(writer, 0))
    (finding,) = linted(writer.data(), "m.pte", targets=["cortex-m4"]).findings
    assert finding.remedy.startswith("Export again with module.to(memory_format=torch.channels_last)")


def test_a_convolution_over_time_is_to_be_written_as_one_of_an_image() -> None:
    """No memory format of PyTorch exists for three axes, so that exporting again in channels_last changes nothing."""
    writer = PteWriter()
    given, scale = writer.tensor("float32", (1, 2, 5)), (0.5, 3, -128, 127, 1)
    writer.call("cortex_m::quantize_per_tensor.out", (given,), *scale, out=writer.tensor("int8", (1, 2, 5)))
    weights = writer.constant([[[1.0], [2.0]]], "float32")
    window = ((weights,), None, [1], [0], [1], False, [0], 1)
    writer.outputs.append(
        writer.call("aten::convolution.out", (given,), *window, out=writer.tensor("float32", (1, 1, 5)))
    )
    (finding,) = linted(writer.data(), "m.pte", targets=["cortex-m4"]).findings
    assert finding.remedy.startswith("Write each nn.Conv1d as an nn.Conv2d with a window of (1, k)")


def test_a_program_that_never_reaches_the_backend_is_to_be_quantized() -> None:
    writer = PteWriter()
    writer.outputs.append(float_convolution(writer, 0))
    (finding,) = linted(writer.data(), "m.pte", targets=["cortex-m4"]).findings
    assert finding.remedy.startswith("Quantize it with CortexMQuantizer")


@pytest.mark.parametrize(("sizes", "wrong"), [((1, 2, 25), True), ((1, 5, 5, 2), False)], ids=["reshape", "permute"])
def test_a_view_of_an_image_without_a_call_is_wrong_where_elements_would_move(
    sizes: tuple[int, ...], wrong: bool
) -> None:
    """The exporter leaves `y.reshape(1, 2, -1)` out, also behind a convolution with its channels last."""
    writer = PteWriter()
    image = writer.image(1, 2, 5, 5)
    writer.inputs.append(image)
    writer.convolution(image, (1, 2, 5, 5), (1, 2, 5, 5), 1, 0)
    offset = writer.planned - 64  # of the result, which is the last tensor planned
    allocation = {"memory_id": 1, "memory_offset_low": offset}
    view = writer.tensor("int8", sizes, allocation_info=allocation)
    result = writer.tensor("float32", sizes)
    scale = (0.5, 3, -128, 127, 1)
    writer.outputs.append(writer.call("cortex_m::dequantize_per_tensor.out", (view,), *scale, out=result))
    findings = linted(writer.data(), "m.pte", targets=["cortex-m4"]).findings
    remedies = [finding.remedy for finding in findings if finding.code == "CNN402"]
    assert [remedy.split(":")[0] for remedy in remedies] == [
        "Call .contiguous() in front of the reshape or view"
    ] * wrong
