"""Times a fix of models of about 4 MB as a whole process, proof included: python bench/fix.py [RUNS].

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
from speed import measure

MODELS: dict[str, Callable[[Path], None]] = {
    "float": partial(mobilenet, width=0.47),
    "quantized": partial(quantized_mobilenet, width=0.93),
    "float weights": partial(quantized_mobilenet, width=0.42, float_weights=True),
}
"""Writers of the models, with their share of MobileNetV1's channels."""
POLICIES = ("faster", "align")


def main(runs: int) -> None:
    """Print the median time and the peak memory of each model and policy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        for name, policy in product(MODELS, POLICIES):
            here = str(Path(__file__).parent)
            script = f"import sys; sys.path.insert(0, {here!r}); import fix; fix.make({name!r}, {str(path)!r})"
            subprocess.run([sys.executable, "-c", script], check=True)
            data = path.read_bytes()
            results = []
            for _ in range(runs):
                path.write_bytes(data)
                results.append(measure([*_command(policy), str(path)]))
            seconds, memory = statistics.median(run[0] for run in results), max(run[2] for run in results)
            changed = "changed" if path.read_bytes() != data else "left as it is"
            title = f"{name}, {len(data) / 1e6:.1f} MB, --fix --fix-policy {policy}"
            print(f"{title}: {seconds:.1f} s, peak {memory // 1024} MB, {changed}")


def make(name: str, path: str) -> None:
    """Write a model."""
    MODELS[name](Path(path))


def _command(policy: str) -> list[str]:
    options = ["--isolated", "--fix", "--fix-policy", policy, "--target", "cortex-m4"]
    return [sys.executable, "-m", "onnxlint_cmsis", *options]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
