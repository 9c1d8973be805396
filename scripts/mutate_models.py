"""Look at damaged models: python scripts/mutate_models.py FOLDER... [--count 100000] [--seed 1] [--jobs 2].

Each number is one model of the folders, damaged in a way that the seed and the number decide, and then linted with
every check on and listed by `layers`, in a process of limited memory. A model that makes either raise anything but the
error of an unreadable file, that ends the process, or that takes too long, is printed; the exit code is then 1.
`--first N --count 1` looks at one number again, and `--keep FOLDER` writes what it looks at.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import resource
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from model_mutations import mutated  # noqa: E402
from onnxlint_cmsis import engine  # noqa: E402
from onnxlint_cmsis.config.resolve import make_settings  # noqa: E402
from onnxlint_cmsis.formats.onnx_graph.load import load  # noqa: E402
from onnxlint_cmsis.graph.model_error import ModelError  # noqa: E402
from onnxlint_cmsis.layers_report import layers_table  # noqa: E402

MEMORY = 2_500_000_000
"""Bytes of address space that the process of one model may take."""
SECONDS = 60
"""Time that one model may take."""
DONE = "done"
SETTINGS = make_settings(size_checks_limit="unlimited", size_checks_layers="unlimited")


def read(data: bytes) -> None:
    """Load a model."""
    load("m.onnx", data=data)


def look(data: bytes) -> None:
    """Lint a model and list its layers."""
    engine.lint_file("m.onnx", SETTINGS, data)
    layers_table("m.onnx", SETTINGS, data)


STAGES: dict[str, Callable[[bytes], None]] = {"read": read, "all": look}


def work(args: argparse.Namespace) -> None:
    """Look at the models of a range of numbers; print each number before its model, and what went wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    files = models(args.folders)
    for number in range(args.first, args.first + args.count):
        chance = random.Random(args.seed * 1_000_003 + number)
        path = chance.choice(files)
        data = mutated(path.read_bytes(), chance, args.kind)
        if args.keep:
            Path(args.keep, f"{number}_{path.name}").write_bytes(data)
        print(f"at {number} {path.name}", flush=True)
        signal.alarm(SECONDS)
        try:
            STAGES[args.stage](data)
        except ModelError:
            continue
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            print(f"error {number} {path.name}: {said(error)} at {place.filename}:{place.lineno}", flush=True)
            if args.verbose:
                traceback.print_exc()
    print(DONE, flush=True)


def said(error: Exception) -> str:
    """An exception in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"


def models(folders: list[str]) -> list[Path]:
    """Every model file below the folders."""
    return sorted(path for folder in folders for path in Path(folder).glob("**/*.onnx"))


def complaints(args: argparse.Namespace, numbers: range) -> Iterator[str]:
    """What went wrong with the models of a range; a process that ends is started again behind the model it was at."""
    first = numbers.start
    while first < numbers.stop:
        options = [f"--first={first}", f"--count={numbers.stop - first}", f"--seed={args.seed}", f"--kind={args.kind}"]
        options += [f"--stage={args.stage}", f"--keep={args.keep}", *(["--verbose"] if args.verbose else [])]
        command = [sys.executable, __file__, *args.folders, *options, "--work"]
        at = ""
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout or ():
                if line.startswith("error "):
                    yield line.rstrip()
                elif line.startswith("at "):
                    at = line.removeprefix("at ").rstrip()
                elif line.rstrip() == DONE:
                    return
        yield f"error {at or first}: its process ended {ending(process.wait())}"
        first = int(at.split()[0]) + 1 if at else numbers.stop


def ending(code: int) -> str:
    """How a process ended."""
    with contextlib.suppress(ValueError):
        if code < 0:
            return f"with {signal.Signals(-code).name}"
    return f"with exit code {code}"


def main(argv: list[str]) -> int:
    """Look at the models in some processes; 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number to begin with")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kind", choices=("bytes", "parts", "both"), default="bytes")
    parser.add_argument("--stage", choices=tuple(STAGES), default="all")
    parser.add_argument("--keep", default="", help="folder to write the damaged models to")
    parser.add_argument("--verbose", action="store_true", help="print where each error was raised")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if not models(args.folders):
        parser.error("the folders hold no models")
    if args.work:
        work(args)
        return 0
    step = -(-args.count // args.jobs)
    end = args.first + args.count
    parts = [range(start, min(start + step, end)) for start in range(args.first, end, step)]
    found = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for part in pool.map(lambda numbers: list(complaints(args, numbers)), parts):
            found += len(part)
            print(*part, sep="\n", end="\n" if part else "")
    print(f"{args.count} damaged models, {found} of them ended in an error or too late")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
