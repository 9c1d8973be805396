"""Peaks and the changes that lower them: sizes worked out by hand."""

from __future__ import annotations

from onnxlint_cmsis.analysis.arena_plan import ArenaStep, ArenaUses, plan_arena
from onnxlint_cmsis.analysis.fit import device_fits
from onnxlint_cmsis.analysis.layer_order import small_order
from onnxlint_cmsis.analysis.peak import peak_of
from onnxlint_cmsis.analysis.ram_remedies import best_remedy
from support.dims_graphs import Builder
from support.linter import analysed

COPIES = "left out"
NO_WIDTHS = Builder().analyse()


def size(uses):
    return plan_arena(uses).size


def remedy(uses, room):
    return best_remedy(uses, size, room, COPIES, lambda: NO_WIDTHS)


def chain(*sizes, channels=None, could=()):
    """A chain of layers over buffers of these sizes."""
    steps = tuple(
        ArenaStep((number,), (number + 1,), label=f"layer {number}", node=number, could=number in could)
        for number in range(len(sizes) - 1)
    )
    names = {number: f"t{number}" for number in range(len(sizes))}
    return ArenaUses(dict(enumerate(sizes)), (0,), steps, (len(sizes) - 1,), names, channels or {})


def test_the_peak_is_the_step_with_the_largest_pair():
    peak = peak_of(chain(64, 320, 640, 32))
    assert (peak.step, peak.alive, peak.bytes) == (1, (2, 1), 960)


def test_a_step_in_place_counts_its_place_once():
    uses = chain(64, 64, 64)
    assert peak_of(uses._replace(steps=tuple(step._replace(in_place=True) for step in uses.steps))).bytes == 64


def test_fewer_channels_everywhere_where_one_tensor_is_not_enough(told):
    saving = remedy(chain(16, 1600, 1600, 1600, 16, channels={1: 100, 2: 100, 3: 100}), 1600)
    told(saving.text)
    assert saving.bytes <= 1600


def test_a_copy_left_out_costs_nothing_and_goes_first():
    saving = remedy(chain(16, 512, 512, 16, channels={1: 8}, could=(1,)), 600)
    assert (saving.text, saving.bytes, saving.cut) == ("layer 1 left out", 528, 0.0)


def test_another_order_of_two_branches(told):
    """Two branches from one input, each with a large tensor that shrinks: one after the other needs less."""
    names = dict(enumerate(["x", "a", "b", "c", "d", "y"]))
    sizes = {0: 16, 1: 1024, 2: 1024, 3: 16, 4: 16, 5: 16}
    steps = (
        ArenaStep((0,), (1,), label="grow a"), ArenaStep((0,), (2,), label="grow b"),
        ArenaStep((1,), (3,), label="shrink a"), ArenaStep((2,), (4,), label="shrink b"),
        ArenaStep((3, 4), (5,), label="add"),
    )  # fmt: skip
    uses = ArenaUses(sizes, (0,), steps, (5,), names)
    assert [step.label for step in small_order(uses)] == ["grow a", "shrink a", "grow b", "shrink b", "add"]
    saving = remedy(uses, 1200)
    told(saving.text)
    assert saving.bytes < size(uses) - 900


def test_an_order_is_never_one_that_reads_before_it_writes():
    uses = chain(16, 512, 32, 256, 16)
    assert small_order(uses) == uses.steps


def joined(*, left=12, right=12, ram):
    """Two convolutions that a Concat joins, against a device."""
    build = Builder()
    image = build.input("x", 1, 4, 16, 16)
    parts = build.conv(image, 4, left, name="left"), build.conv(image, 4, right, name="right")
    value = build.conv(build.op("Concat", *parts, axis=1, name="both"), left + right, 4, name="narrow")
    (fit,) = device_fits(analysed(build.model(value).SerializeToString(), targets=["cortex-m4"], ram=ram))
    return fit.ram


def test_fewer_channels_are_those_of_one_layer_in_front_of_a_concat():
    saving = joined(ram=12_100).remedy
    width, text = saving.text.split(" ", 1)
    assert text == "instead of 12 channels in Conv 'left'"
    assert joined(left=int(width), ram=12_100).bytes == saving.bytes <= 12_100


def test_where_one_layer_in_front_of_a_concat_is_not_enough_all_of_them_get_fewer_channels():
    saving = joined(ram=7_000).remedy
    left, right = (int(part.split(" ")[0]) for part in saving.text.split(" and "))
    assert (
        saving.text
        == f"{left} instead of 12 channels in Conv 'left' and {right} instead of 12 channels in Conv 'right'"
    )
    assert joined(left=left, right=right, ram=7_000).bytes == saving.bytes <= 7_000


def fits(*, target="cortex-m4", **room):
    build = Builder()
    value = build.conv(build.input("x", 1, 4, 32, 32), 4, 16, name="wide")
    data = build.model(build.conv(value, 16, 4, name="narrow")).SerializeToString()
    return device_fits(analysed(data, targets=[target], **room))


def test_nothing_is_worked_out_unasked():
    assert fits() == ()


def test_an_onnx_model_against_a_device():
    (fit,) = fits(ram="16K", flash="1K")
    assert dict(fit.ram.parts)["activations"] == 20 * 1024
    assert fit.ram.bytes == 20 * 1024 + dict(fit.ram.parts)["scratch"]
    assert [size for _, size in fit.ram.alive] == [16 * 1024, 4 * 1024]
    assert not fit.ram.fits
    assert fit.ram.remedy.text == "12 instead of 16 channels in Conv 'wide'"
    assert fit.ram.remedy.bytes <= 16 * 1024
    weights, channels = 2 * 4 * 16, 20
    assert fit.flash.bytes == weights + (4 + 8) * channels
    assert fit.flash.largest[0][1] >= fit.flash.largest[1][1]
