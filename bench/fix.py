"""Times a fix of models of about 4 MB as a whole process, proof included: python bench/fix.py [RUNS] [TREE].

With TREE, the sources of an older version, each model is fixed by both in turn, and the ratio of their processor times
is printed.

* `float`: a MobileNetV1 of half the usual width, whose channel counts are no multiples of four;
* `quantized`: the same with s8 weights between DequantizeLinear and QuantizeLinear;
* `float weights`: a quantized one whose weights are float and of which two classes of channels cannot be proven.

`align` pads all channel counts, so that everything is worked out, applied, proven in ONNX Runtime and written; `faster`
removes and pads what pays, or finds out that nothing does. Nothing here fails: shared machines are noisy, so read the
medians.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

from models import mobilenet, quantized_mobilenet
from speed import Run, compile_into, measure

MODELS: dict[str, Callable[[Path], None]] = {
    "float": partial(mobilenet, width=0.47),
    "quantized": partial(quantized_mobilenet, width=0.93),
    "float weights": partial(quantized_mobilenet, width=0.42, float_weights=True),
}
"""Writers of the models, with their share of MobileNetV1's channels."""
POLICIES = ("faster", "align")


HERE = str(Path(__file__).parent.parent)
"""The tree of this file."""


def main(runs: int, tree: str) -> None:
    """Print the median processor time and the peak memory of each model and policy, and the ratio to another tree."""
    with tempfile.TemporaryDirectory() as folder:
        compile_into(Path(folder, "compiled"))
        path = Path(folder, "model.onnx")
        for name, policy in product(MODELS, POLICIES):
            here = str(Path(__file__).parent)
            script = f"import sys; sys.path.insert(0, {here!r}); import fix; fix.make({name!r}, {str(path)!r})"
            subprocess.run([sys.executable, "-c", script], check=True)
            data = path.read_bytes()
            results: dict[str, list[Run]] = {checkout: [] for checkout in (tree, HERE) if checkout}
            for checkout in [*results, *[*results] * runs]:  # the first round compiles modules
                path.write_bytes(data)
                results[checkout].append(measure([*_command(policy), str(path)], checkout))
            changed = "changed" if path.read_bytes() != data else "left as it is"
            print(f"{name}, {len(data) / 1e6:.1f} MB, --fix --fix-policy {policy}: {_told(results, tree)}, {changed}")


def _told(results: dict[str, list[Run]], tree: str) -> str:
    """Medians of this tree, and the median of the ratios to the other one."""
    ours = results[HERE][1:]
    wall, seconds = (statistics.median(numbers) for numbers in list(zip(*ours, strict=True))[:2])
    text = f"{seconds:.2f} s of processor, {wall:.2f} s, peak {max(run.kilobytes for run in ours) // 1024} MB"
    if not tree:
        return text
    ratio = statistics.median(new.processor / old.processor for new, old in zip(ours, results[tree][1:], strict=True))
    return f"{text}, ratio {ratio:.2f}"


def make(name: str, path: str) -> None:
    """Write a model."""
    MODELS[name](Path(path))


def _command(policy: str) -> list[str]:
    options = ["--isolated", "--fix", "--fix-policy", policy, "--target", "cortex-m4"]
    return [sys.executable, "-m", "onnxlint_cmsis", *options]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3, sys.argv[2] if len(sys.argv) > 2 else "")
