"""Times a fix of a model of about 4 MB as a whole process, proof included: python bench/fix.py [RUNS].

The model is a float MobileNetV1 of half the usual width, whose channel counts are no multiples of four. `align` pads
them all, so that everything is worked out, applied, proven in ONNX Runtime and written; `faster` finds out that nothing
gains, or removes and pads what does. Nothing here fails: shared machines are noisy, so read the medians.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from models import mobilenet
from speed import compile_into, measure

WIDTH = 0.47
"""Share of MobileNetV1's channels."""
POLICIES = ("faster", "align")


def main(runs: int) -> None:
    """Print the median time and the peak memory of each policy."""
    with tempfile.TemporaryDirectory() as folder:
        compile_into(Path(folder, "compiled"))
        path = Path(folder, "model.onnx")
        script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import fix; fix.make({str(path)!r})"
        subprocess.run([sys.executable, "-c", script], check=True)
        data = path.read_bytes()
        print(f"model of {len(data) / 1e6:.1f} MB")
        for policy in POLICIES:
            results = []
            for _ in range(runs):
                path.write_bytes(data)
                results.append(measure([*_command(policy), str(path)]))
            seconds, memory = statistics.median(run.wall for run in results), max(run.kilobytes for run in results)
            changed = "changed" if path.read_bytes() != data else "left as it is"
            print(f"--fix --fix-policy {policy}: {seconds:.1f} s, peak {memory // 1024} MB, {changed}")


def make(path: str) -> None:
    """Write the model."""
    mobilenet(Path(path), WIDTH)


def _command(policy: str) -> list[str]:
    options = ["--isolated", "--fix-only", "--fix-policy", policy, "--target", "cortex-m4"]
    return [sys.executable, "-m", "onnxlint_cmsis", *options]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
