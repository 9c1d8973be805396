"""Times the linter as whole processes and prints ratios: python bench/speed.py [RUNS].

* text and SARIF output on a MobileNet-size model against `import onnx; onnx.load(FILE, load_external_data=False)`;
* the same file with and without the rules that search sizes;
* a quantized MobileNet with every check on against the same `onnx.load`, for one target and for three;
* 1 GB of weights against 1 MB; 10,000 nodes against 1,000; peak memory beside each.
Processor seconds are compared, with modules compiled as in an installed package. The two commands of a comparison run
in turn, and the least that each took counts: what else a machine does makes a run longer and never shorter. On a loaded
machine ask for 25 RUNS. Nothing here fails.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple


class Run(NamedTuple):
    """What one process took."""

    wall: float
    """Seconds from start to end."""
    processor: float
    """Seconds of processor time."""
    kilobytes: int
    """Peak resident memory."""


def measure(command: list[str], tree: str = "") -> Run:
    """Run a command, from inside another tree where one is given; its child processes count."""
    environment = {**os.environ, "PYTHONPATH": tree} if tree else None
    started = time.perf_counter()
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment, cwd=tree or None) as process:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return Run(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def compile_into(folder: Path) -> None:
    """Let the processes of this bench keep their compiled modules in a folder, as an installed package has them."""
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def compare(title: str, first: list[str], second: list[str], runs: int) -> None:
    """Run both in turn and print the ratio of the least times, beside the median of the ratios of the pairs."""
    measure(first), measure(second)
    pairs = [(measure(first), measure(second)) for _ in range(runs)]
    paired = statistics.median(a.processor / b.processor for a, b in pairs)
    times = [min(p[i].processor for p in pairs) * 1000 for i in (0, 1)]
    memory = [max(p[i].kilobytes for p in pairs) // 1024 for i in (0, 1)]
    print(
        f"{title}: ratio {times[0] / times[1]:.2f}, of pairs {paired:.2f} "
        f"({times[0]:.0f} ms and {times[1]:.0f} ms, peak {memory[0]} and {memory[1]} MB)"
    )


def main(runs: int) -> None:
    """Print every comparison."""
    lint = [sys.executable, "-m", "onnxlint_cmsis", "--isolated", "--exit-zero"]
    sarif = [*lint, "--output-format", "sarif"]
    with tempfile.TemporaryDirectory() as folder:
        compile_into(Path(folder, "compiled"))
        # In another process: a child's peak memory counts what its parent held when it was started.
        subprocess.run([sys.executable, str(Path(__file__).with_name("models.py")), folder], check=True)
        paths = {path.stem: path for path in Path(folder).iterdir()}
        model = str(paths["mobilenet"])
        load = f"import onnx; onnx.load({model!r}, load_external_data=False)"
        compare("text against onnx.load", [*lint, model], [sys.executable, "-c", load], runs)
        compare("SARIF against text", [*sarif, model], [*lint, model], runs)
        sized, bare = ([*lint, "--config", f"size-checks-limit={limit}"] for limit in ("unlimited", "0"))
        compare("with the size checks against without", [*sized, model], [*bare, model], runs)
        quantized = str(paths["quantized"])
        load = f"import onnx; onnx.load({quantized!r}, load_external_data=False)"
        for targets in ("cortex-m4", "cortex-m55", "cortex-m0,cortex-m4,cortex-m55"):
            command = [*lint, "--target", targets, quantized]
            compare(f"every check for {targets} against onnx.load", command, [sys.executable, "-c", load], runs)
        compare("1 GB against 1 MB of weights", [*bare, str(paths["large"])], [*bare, str(paths["small"])], runs)
        compare("10,000 against 1,000 nodes", [*lint, str(paths["n10000"])], [*lint, str(paths["n1000"])], runs)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
