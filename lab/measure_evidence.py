"""Makes cmsis_nn/measured_pairs.json from cost vectors: python lab/measure_evidence.py FOLDER [--check].

FOLDER holds `<release>-<isa>.jsonl.gz`, one JSON object a line: instructions retired by one wrapper call of the real
library (see onnxlint_cmsis/checks/near_by.py for how they were counted). A pair is two rows that differ in one channel
count, the second being the nearest count that takes the kernel a check wants.
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.analysis.analysis_settings import AnalysisSettings
from onnxlint_cmsis.checks.measured_gain import pair_values
from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule_registry import every_check
from onnxlint_cmsis.checks.run_checks import layer_subject
from onnxlint_cmsis.cmsis_nn.layer_records import call_of
from onnxlint_cmsis.cmsis_nn.library import COMPILER, measured_pairs, route
from onnxlint_cmsis.cmsis_nn.measured_pairs import PAIRS, Evidence
from onnxlint_cmsis.cmsis_nn.releases import normalise_release
from onnxlint_cmsis.ground.types import Isa, KernelCall, Target
from onnxlint_cmsis.lower.layer import Channel, Layer
from onnxlint_cmsis.model.graph import Graph, Node

CHANNELS = ("input_dims.c", "ch_mult", "output_dims.c")
NO_MODEL = ModelAnalysis("", AnalysisSettings(()), graph=Graph("", (), {}, {}, (), (), {}, {}))
NO_NODE = Node(0, "", "", "", 0, (), ())

WRAPPED = ("conv", "dw")
"""Kinds of rows whose wrapper chooses between kernels that checks ask for."""


def read(path: Path) -> dict[KernelCall, float]:
    """Instructions of every call in a file."""
    costs = {}
    with gzip.open(path, "rt") as lines:
        for line in lines:
            row = json.loads(line)
            if row["kind"] in WRAPPED:
                costs[call_of(row)] = row["instructions"]
    return costs


def changes(check: RoutingCheck, target: Target, costs: dict[KernelCall, float]) -> Iterator[tuple[str, bool, float]]:
    """Entry point of each pair, whether it lies in the check's region, and its change of instructions in percent."""
    for call, before in costs.items():
        layer = Layer(NO_NODE, call, {name: Channel("", 0) for name in CHANNELS})
        subject = layer_subject(NO_MODEL, layer, target, route(call, target))
        if not check.misses(subject):
            continue
        reached = next(check.reach(subject), None)
        if reached is None or reached.route.effective == subject.route.effective or reached.route.status:
            continue
        after = layer.resized(reached.variable, reached.want)
        if after in costs and not subject.route.status:
            inside = check.gain.region.evaluate(pair_values(call, after)) is True
            yield call.entry, inside, (costs[after] / before - 1) * 100


def files(folder: Path) -> list[Path]:
    """Files of builds of each instruction set by the first compiler, in name order."""
    return sorted(path for isa in Isa for path in folder.glob(f"*-{isa.value}.jsonl.gz"))


def target_of(path: Path) -> Target:
    """What a file was measured on."""
    name, _, isa = path.name.removesuffix(".jsonl.gz").rpartition("-")
    return Target(isa, Isa(isa), normalise_release(name), COMPILER)


def rows(path: Path) -> Iterator[Evidence]:
    """Every row of the table that comes from a file, checks in code order."""
    target, costs = target_of(path), read(path)
    for check in every_check():
        if not isinstance(check.run, RoutingCheck) or not check.run.gain.rule:
            continue
        groups: dict[tuple[str, bool], list[float]] = {}
        for entry, inside, percent in changes(check.run, target, costs):
            groups.setdefault((entry, inside), []).append(percent)
        for (entry, inside), percents in groups.items():
            median, worst = round(statistics.median(percents), 1), round(max(percents), 1)
            faster = sum(percent < 0 for percent in percents)
            build = target.release, target.isa.value
            yield Evidence(check.run.gain.rule, entry, *build, inside, len(percents), faster, median, worst)


def table_with(fresh: list[Evidence]) -> str:
    """Text of the table, with new rows in place of those of their rules."""
    rules = {row.rule for row in fresh}
    table = [*(row for row in measured_pairs() if row.rule not in rules), *fresh]
    table.sort(key=lambda row: (row.rule, row.entry, not row.inside))
    return "[\n" + ",\n".join(json.dumps(row) for row in table) + "\n]\n"


def main(arguments: list[str]) -> int:
    """Write the table, or with --check compare it; 1 where it differs."""
    table = table_with([row for path in files(Path(arguments[0])) for row in rows(path)])
    if "--check" in arguments:
        return int(table != PAIRS.read_text(encoding="utf-8"))
    PAIRS.write_text(table, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
