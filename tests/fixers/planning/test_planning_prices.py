"""Prices of many channel counts at once are those of each alone, on random and on real layers."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.analysis.coverage import summarize
from onnxlint_cmsis.cmsis_nn.library import predicted
from onnxlint_cmsis.fixers.planning.decision import decide
from onnxlint_cmsis.fixers.planning.factors import factors_of
from onnxlint_cmsis.fixers.planning.planning_input import planning_input
from onnxlint_cmsis.fixers.planning.policies import FixOptions
from onnxlint_cmsis.fixers.planning.prices import LARGEST, Prices
from onnxlint_cmsis.fixers.planning.problem import SizeProblem
from onnxlint_cmsis.formats.onnx.load import load
from onnxlint_cmsis.ground.types import Pair
from onnxlint_cmsis.model.axes import leaves
from support import paths
from support.conv_chains import chain
from support.draws import draws
from support.fix_random import models
from support.linter import analysed
from support.models import read
from support.quantized_models import transposed
from support.targets import target_of
from support.tflite_models import streaming_model
from support.tflite_writer import write

MODELS = paths.SHARED / "models"
TARGETS = tuple(target_of(name, "7.0.0", "gcc") for name in ("cortex-m0", "cortex-m4", "cortex-m55"))


def seen(graph, targets=TARGETS):
    prices = Prices(targets, predicted)
    return planning_input(ModelAnalysis("test", AnalysisSettings(prices.targets), graph=graph), prices), prices


def way(taken):
    ids = tuple(hazard.id for hazard in taken.hazards), tuple(hazard.id for hazard in taken.open_hazards)
    return taken.kernel, taken.chain, taken.effective, taken.status, ids, taken.undecided, taken.reason


def agree(view, prices, choices):
    """Every layer at up to four sizes of each of its classes; the number of prices compared."""
    compared = 0
    for site in view.sites:
        sizes = [sorted({choices.randint(1, 70) for _ in range(4)}) for _ in site.leaves]
        grid = site.grid(site.leaves[:3], sizes[:3])
        if grid is None:
            continue
        columns = prices.columns(site, *grid)
        for cell, channels in enumerate(zip(*(numbers.tolist() for numbers in grid), strict=True)):
            for column, alone in zip(columns, prices.at(site, channels), strict=True):
                assert way(column.routes[column.which[cell]]) == way(alone.route)
                number = int(column.instructions[cell]) if column.known[cell] else None
                assert number == alone.instructions, (site.layer.call, channels)
                compared += 1
    return compared


@pytest.mark.parametrize("runtime", ["tflm", "executorch"])
def test_a_layer_has_the_price_that_the_library_of_the_runtime_has(runtime):
    """Both bring transpose_conv_s8 of 7.0.0 under the name of a later release."""
    model = analysed(transposed().model(), targets=["cortex-m4", "cortex-m55"], runtime=runtime)
    chosen = model.settings
    prices = Prices(chosen.targets, predicted, model.route, chosen.runtime.library)
    (layer,) = model.lowered.layers
    instructions = [price.instructions for price in prices.of_layer(layer)]
    assert instructions == [model.instructions(layer.call, target) for target in chosen.targets]
    assert None not in instructions
    view = planning_input(model, prices)
    assert agree(view, prices, random.Random(0)) > 10


@settings(max_examples=draws(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(models(), st.integers(0, 2**32))
def test_random_layers_cost_together_what_they_cost_alone(model, seed):
    agree(*seen(read(model)), random.Random(seed))


@pytest.mark.skipif(not MODELS.exists(), reason="needs the models in a folder `shared` beside the project")
@pytest.mark.parametrize("name", ["deeploy_tinyvit_demo", "dory_tcn_int_1d", "emza_ssd_slim_int8_tf", "vww96_int8_tf"])
def test_real_layers_cost_together_what_they_cost_alone(name):
    view, prices = seen(load(str(MODELS / f"{name}.onnx")))
    assert agree(view, prices, random.Random(name)) > 100


def test_equal_layers_share_their_prices():
    build, out = chain(8, 16, 16, 16, 4)
    view, prices = seen(build.graph(out), TARGETS[:1])
    inputs, outputs = np.array([4, 5, 6]), np.array([7, 8, 9])
    first, two = (prices.columns(site, inputs, outputs) for site in view.sites[1:3])
    assert first is two
    assert prices.columns(view.sites[0], inputs, outputs + 1) is not first


def test_what_no_machine_counts_has_no_known_cost():
    """Numbers of loops that do not fit into 64 bits are not wrapped round; nothing is proposed."""
    build, out = chain(8, 7, 32, size=2**22)
    view, prices = seen(build.graph(out))
    assert LARGEST < (2**22) ** 2 * 8
    assert all(price.instructions is None for site in view.sites for price in prices.of(site.layer.call))
    assert agree(view, prices, random.Random(1)) > 0
    assert decide(view, prices, FixOptions(min_gain=0), {}, {}).sizes == {}


def test_a_layer_along_two_parts_of_one_axis_is_priced_by_their_sum():
    from support.dims_graphs import Builder

    build = Builder()
    value = build.input("x", 1, 4, 8, 8)
    parts = [build.conv(value, 4, width, name=f"part{width}") for width in (3, 5)]
    out = build.conv(build.op("Concat", *parts, axis=1), 8, 6, name="reader")
    view, prices = seen(build.graph(out), TARGETS[1:2])
    reader = view.sites[-1]
    domains = dict.fromkeys(leaves(reader.inputs), (3, 4, 5))
    (factor,) = (
        factor
        for factor in factors_of(view, prices, domains, 4, None)
        if len(factor.scope) == 2 and factor.measure((3, 5))[2]
    )
    sizes = SizeProblem(domains, (factor,))
    assert factor.measure((3, 5)) == factor.measure((4, 4)) == factor.measure((5, 3))
    assert sizes.totals(sizes.present)[2] == prices.at(reader, (6, 6))[0].instructions


def test_what_call_once_runs_has_no_price_but_its_hazards(tmp_path):
    """Planning sums up what each run costs, as the summary does; 0 is a known cost along its classes."""
    path = tmp_path / "m.tflite"
    path.write_bytes(write(streaming_model()))
    model = ModelAnalysis(str(path), AnalysisSettings(TARGETS[1:2]))
    prices = Prices(TARGETS[1:2], predicted, model.route, model.settings.runtime.library)
    view = planning_input(model, prices)
    (once,) = (layer for layer in model.lowered.layers if layer.once)
    (alone,), (counted,) = prices.of(once.call), prices.of_layer(once)
    assert once.node.op_type == "CONV_2D"
    assert (counted.instructions, way(counted.route)) == (0, way(alone.route))
    assert alone.instructions > 0
    (site,) = (site for site in view.sites if site.layer is once)
    assert not {leaf for leaf in site.leaves if view.unpriced.get(leaf) == once.node.label}
    assert agree(view, prices, random.Random(1)) > 0
    (summary,) = model.once(summarize).targets
    problem = SizeProblem({}, factors_of(view, prices, {}, 1, None))
    assert problem.totals({})[2] == summary.instructions > 0


@pytest.mark.parametrize("field", ["stride", "padding", "pad_after", "dilation"])
def test_a_call_with_a_number_beyond_any_device_has_no_price(field):
    build, out = chain(8, 16, 4)
    view, prices = seen(build.graph(out))
    site = view.sites[0]
    call = site.layer.call
    huge = site._replace(layer=site.layer._replace(call=call._replace(**{field: Pair(2**63, 2**63)})))
    sizes = np.array([4, 8])
    assert all(not column.known.any() for column in prices.columns(huge, sizes, sizes))


def test_a_call_with_more_work_than_any_device_does_has_no_price():
    build, out = chain(8, 16, 4)
    view, prices = seen(build.graph(out))
    site = view.sites[0]
    plane = site.layer.call.output_dims._replace(n=2**40, h=2**20, w=2**20)
    huge = site._replace(layer=site.layer._replace(call=site.layer.call._replace(output_dims=plane)))
    sizes = np.array([4, 8])
    assert all(not column.known.any() for column in prices.columns(huge, sizes, sizes))
