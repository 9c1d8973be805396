"""Findings, runs and an engine that needs no model, for the tests of the command line and of the reporters."""

from __future__ import annotations

from onnxlint_cmsis.analysis.results import FileResult
from onnxlint_cmsis.ground.findings import Effect, Finding, Location, Resize
from onnxlint_cmsis.ground.types import Freedom, Level, Source
from onnxlint_cmsis.output.run_results import Run

TARGET = "cortex-m55, CMSIS-NN 7.0.0, gcc"
NASTY = "a%b:c,d\ne\r\x1b[31m<&\"'>\u202e\ud800é"


def routing_miss(path="m.onnx", node="Conv_1", level=Level.WARNING, want=12):
    return Finding(
        "CNN102",
        "conv-1x1-fast",
        level,
        f"Conv '{node}': input_dims.c 10 -> {want} would take arm_convolve_1x1_s8_fast",
        Location(path, node, "Conv", "x", "", 120, 34),
        (TARGET,),
        Resize("input_dims.c", "x", 1, 10, want, Freedom.COUPLED, ("Conv_0", "Conv_3")),
        "arm_convolve_s8",
        "arm_convolve_1x1_s8_fast",
        (Source("7.0.0", "Source/ConvolutionFunctions/arm_convolve_wrapper_s8.c", "arm_convolve_wrapper_s8", 61),),
        {"macs": 1200, "ratio": float("nan")},
        effect=Effect.COSTS,
    )


def wrong_result(path="m.onnx", node="Conv_2"):
    message = f"Conv '{node}' returns wrong values with status SUCCESS"
    where = Location(path, node, "Conv", "", "If_0/then_branch")
    return Finding("CNN302", "wrong-result", Level.ERROR, message, where, effect=Effect.WRONG)


def note(path="m.onnx", node="Conv_4"):
    resize = Resize("output_dims.c", "y", 1, 3, 4, Freedom.LOCKED, (), "graph output 'y'")
    where = Location(path, node, "Conv", "y", "", 0, 9)
    return Finding(
        "CNN111", "depthwise-3x3", Level.NOTE, f"Conv '{node}' misses it", where, (TARGET,), resize, effect=Effect.COSTS
    )


def unreadable(path="bad.onnx"):
    message = f"{path} is not an ONNX model: it is empty"
    return Finding("CNN002", "not-a-model", Level.ERROR, message, Location(path), effect=Effect.UNKNOWN)


def a_run(*files, **more):
    """A run of the files given, each a FileResult or a list of findings for `m.onnx`."""
    results = tuple(
        given if isinstance(given, FileResult) else FileResult("m.onnx", tuple(given), Level.WARNING) for given in files
    )
    return Run(files=results, targets=(TARGET,), **{"exit_code": 1, "folder": "/repo", **more})


class FakeEngine:
    """Stands in for `engine.lint_file`: what a file's content says, with the real selection and suppression."""

    def __init__(self):
        self.paths = []

    def lint_file(self, path, settings, data=None, _model=None, _prices=None):
        from pathlib import Path

        from onnxlint_cmsis.config import accepted
        from onnxlint_cmsis.config.selection import adjust

        self.paths.append(path)
        words = (data if data is not None else Path(path).read_bytes()).decode().split()
        if "boom" in words:
            raise RuntimeError("something\nbroke")
        makers = {"miss": routing_miss, "wrong": wrong_result, "note": note, "unreadable": unreadable}
        findings = [makers[word](path) for word in words if word in makers]
        adjusted = [finding for raw in findings if (finding := adjust(raw, settings))]
        left = accepted.apply(adjusted, settings, None, path)
        notes = ("analysed as s8",) if "float" in words else ()
        return FileResult(
            path,
            left.findings,
            settings.fail_on,
            "unreadable" not in words,
            notes,
            (("nodes", 3), ("suppressed", left.number)),
            matches=left.matches,
        )
