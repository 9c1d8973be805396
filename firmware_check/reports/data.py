"""The report as JSON data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from firmware_check.compare import Comparison, LayerPair
    from firmware_check.instructions import Ends, Instructions
    from firmware_check.library import Library
    from firmware_check.memory import Memory
    from firmware_check.target_check import Failure, TargetCheck
    from firmware_check.verdict import Differences, Disagreement, LayerVerdict


VERSION = 1

Data = dict[str, Any]


def report(
    library: Library,
    checks: Iterable[TargetCheck],
    comparisons: Iterable[Comparison],
    failures: Iterable[Failure],
) -> Data:
    """Everything that a run found. Instructions are instructions, not cycles."""
    return {
        "version": VERSION,
        "cmsis_nn": {"release": library.release, "from": library.origin},
        "checks": [_check(check) for check in checks],
        "comparisons": [_comparison(comparison) for comparison in comparisons],
        "could_not_run": [
            {"cpu": failure.cpu, "compiler": failure.compiler, "reason": failure.reason} for failure in failures
        ],
    }


def _check(check: TargetCheck) -> Data:
    sizes = check.sizes
    return {
        "model": check.path,
        "target": check.label,
        "compiler": check.compiler,
        "board": check.board.machine,
        "per_layer": check.per_layer,
        "agrees": check.agrees,
        "defective": check.defective,
        "verdict": check.verdict,
        "instructions": check.instructions,
        "memory": _memory(check.memory),
        "flash": sizes.flash if sizes else None,
        "ram": sizes.ram + check.memory.scratch.measured if sizes else None,
        "predicted": {
            "layers": check.predicted.layers,
            **_ends(check.predicted.instructions),
            "measured": check.predicted.counted,
        },
        "instructions_verdict": check.instructions_verdict,
        "outputs": [_differences(differences) for differences in check.output_differences],
        "layers": [_layer(layer) for layer in check.layers],
        "not_run": [{"node": label, "reason": reason} for label, reason in check.foreign],
        "flagged_not_run": [{"node": label, "hazard": hazard} for label, hazard in check.unseen],
        "remarks": list(check.remarks),
        "otherwise_in_default_release": None if check.otherwise is None else list(check.otherwise),
    }


def _memory(memory: Memory) -> Data:
    """Bytes; `found` is in the ELF file, for scratch what the size functions answered."""
    kinds = {"constants": memory.constants, "arena": memory.arena, "scratch": memory.scratch}
    sides = {name: {"predicted": size.predicted, "found": size.measured} for name, size in kinds.items()}
    return {**sides, "flash_by_owner": memory.flash, "ram_by_owner": memory.ram}


def _layer(layer: LayerVerdict) -> Data:
    return {
        "node": layer.label,
        "op": layer.op_type,
        "function": layer.function or None,
        "reference_code": layer.reason or None,
        "predicted": _predicted(layer),
        "instructions": _instructions(layer.instructions),
        "observed": {
            "chain": list(layer.observed.chain),
            "effective": layer.observed.effective,
            "status": layer.status,
            "scratch": list(layer.scratch),
            "scratch_written": layer.written,
            "instructions": layer.instructions.counted,
            "calls": [
                {"function": call.name, "depth": call.depth, "times": call.calls, "status": call.status}
                for call in layer.observed.tree
            ],
        },
        "differences": _differences(layer.differences),
        "differences_from_plain_integers": _differences(layer.arithmetic),
        "disagreements": [_disagreement(disagreement) for disagreement in layer.disagreements],
        "defects": [_disagreement(defect) for defect in layer.defects],
        "remarks": list(layer.remarks),
    }


def _predicted(layer: LayerVerdict) -> Data | None:
    route = layer.predicted
    if route is None:
        return None
    return {
        "chain": list(route.chain),
        "effective": route.effective,
        "status": route.status,
        "scratch": [route.buffer_size, route.reverse_buffer_size],
        "instructions": _ends(layer.instructions.predicted)["instructions"],
        "hazards": [hazard.id for hazard in route.hazards],
    }


def _ends(ends: Ends | None) -> Data:
    """One number, or a range: the other is null."""
    least, most = ends or (None, None)
    return {
        "instructions": least if least == most else None,
        "instructions_range": None if least == most else [least, most],
    }


def _instructions(instructions: Instructions) -> Data:
    """`off` counts the instructions beyond the prediction, `allowed` how many of them the documented error allows."""
    documented = instructions.documented
    return {
        "verdict": instructions.verdict,
        "not_judged": instructions.unjudged or None,
        **_ends(instructions.predicted),
        "counted": instructions.counted,
        "off": instructions.off,
        "allowed": instructions.allowed,
        "documented": documented and {"percent": documented.percent, "instructions": documented.least},
    }


def _comparison(comparison: Comparison) -> Data:
    return {
        "before": comparison.before.path,
        "after": comparison.after.path,
        "target": comparison.before.label,
        "agrees": comparison.agrees,
        "verdict": comparison.verdict,
        "instructions": [comparison.before.instructions, comparison.after.instructions],
        "arena": [comparison.before.memory.arena.measured, comparison.after.memory.arena.measured],
        "constants": [comparison.before.memory.constants.measured, comparison.after.memory.constants.measured],
        "outputs": [_differences(differences) for differences in comparison.outputs],
        "outputs_from": "device" if comparison.on_device else "onnxruntime",
        "layers": [_pair(pair) for pair in comparison.pairs],
        "disagreements": [_disagreement(disagreement) for disagreement in comparison.disagreements],
    }


def _pair(pair: LayerPair) -> Data:
    sides = {"before": pair.before, "after": pair.after}
    return {
        "node": pair.label,
        **{
            name: {"effective": side.observed.effective, "instructions": side.instructions.counted} if side else None
            for name, side in sides.items()
        },
    }


def _differences(differences: Differences | None) -> Data | None:
    if differences is None:
        return None
    said: Data = {"count": differences.count, "largest": differences.largest, "total": differences.total}
    return said if differences.strain is None else {**said, "share_of_allowed": differences.strain}


def _disagreement(disagreement: Disagreement) -> Data:
    return {"code": disagreement.code, "text": disagreement.text}
