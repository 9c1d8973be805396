"""Run commands on damaged models: python scripts/mutate_models.py FOLDER... [--count 100000] [--seed 1] [--jobs 2].

Each number is one `.onnx` or `.tflite` file of the folders, damaged in a way that the seed and the number decide. It
goes through every command that takes a model, on a copy in a folder in memory, in one process of limited memory and
time. A command is printed that tells of an internal error, raises, ends its process, takes too long or leaves a file
behind, and a fix whose file is no model any more; the exit code is then 1.

`--first N --count 1` looks at one number again, `--keep FOLDER` writes what it looks at, and `--commands` names the
commands. Every thousand numbers tell standard error how far the run is.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from model_mutations import mutated  # noqa: E402
from onnxlint_cmsis.cli import main as command_line  # noqa: E402
from onnxlint_cmsis.commands.lint_jobs import Job, fix_one  # noqa: E402
from onnxlint_cmsis.config.resolve import make_settings  # noqa: E402
from onnxlint_cmsis.formats.onnx_graph.load import load  # noqa: E402
from onnxlint_cmsis.formats.suffixes import SUFFIXES, is_tflite_path  # noqa: E402
from onnxlint_cmsis.graph.model_error import ModelError  # noqa: E402

MEMORY = 2_500_000_000
"""Bytes of address space that the process may take."""
SECONDS = 20
"""Time of the processor that one command may take; by the clock it is six times that."""
WARMING = 15
"""Sound models that are looked at before the damaged ones."""
DONE = "done"
READABLE = "readable"
EXIT_CODES = (0, 1, 2)
READ = "read"
"""Not a command: the reader of ONNX files alone."""
LINT = ("lint", "{model}", "--size-checks-limit", "unlimited", "--size-checks-layers", "unlimited")


class Step(NamedTuple):
    """One command as it is run on each model."""

    argv: tuple[str, ...]
    """Its words; `{model}` is the copy, `{original}` the file as it was, `{page}` a file to write."""
    tflite: bool = True
    """Whether it takes `.tflite` files."""


STEPS = {
    "lint": Step((*LINT, "--ram", "2K", "--flash", "1K", "--target", "m4,m55", "--explain")),
    "lint-direct": Step((*LINT, "--runtime", "direct", "--output-format", "json")),
    "lint-tflm": Step((*LINT, "--runtime", "tflm", "--output-format", "sarif", "--cmsis-nn-build", "SIZE")),
    "lint-executorch": Step((*LINT, "--runtime", "executorch", "--output-format", "concise")),
    "lint-tvm": Step((*LINT, "--runtime", "tvm", "--output-format", "concise")),
    "layers": Step(("layers", "{model}", "--target", "m0,m55", "--clock", "80MHz")),
    "layers-legacy": Step(("layers", "{model}", "--api", "legacy"), tflite=False),
    "memory": Step(("memory", "{model}", "--target", "m4,m55")),
    "report": Step(("report", "{model}", "-o", "{page}")),
    "compare": Step(("compare", "{original}", "{model}")),
    "widths": Step(("widths", "{model}", "--output-format", "json")),
    "diff": Step(("{model}", "--diff")),
    "fix": Step(("{model}", "--fix", "--output-format", "json")),
}
"""Every command that takes a model. `scan` lints as `lint` does; `route` and `cost` take shapes."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    """Its exit code."""
    trouble: str = ""
    """What is wrong with that; empty for nothing."""


def run_step(name: str, folder: Path, model: Path, original: Path) -> Ended:
    """Run one command."""
    places = {"{model}": str(model), "{original}": str(original), "{page}": str(folder / "page.html")}
    before = model.read_bytes()
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command_line([*(places.get(word, word) for word in STEPS[name].argv), "--isolated", "-v"])
        out.flush()
        err.flush()
    told = err.buffer.getvalue().decode()
    trouble = troubles(told)
    left = {path.name for path in folder.iterdir()} - {model.name, original.name, "page.html"}
    if code not in EXIT_CODES:
        trouble = trouble or f"exit code {code}: {told}"
    elif left:
        trouble = trouble or f"it left {sorted(left)}"
    elif model.read_bytes() != before:
        trouble = trouble or (no_model(model) if name == "fix" else "it changed the model")
    return Ended(code, trouble)


def troubles(told: str) -> str:
    """The place and the text of an internal error, or how a process ended; empty where standard error has neither."""
    lines = told.splitlines()
    place = next((line.strip() for line in reversed(lines) if line.startswith('  File "')), "")
    if told.startswith("onnxlint-cmsis: error: --"):
        return f"its command line is wrong: {told}"
    for line in lines:
        if "internal error" in line or ("its process ended" in line and "ONNX Runtime" not in line):
            what = line.partition("internal error: ")[2].partition("; please report it")[0]
            return f"{what or line} at {place}"
    return ""


def no_model(model: Path) -> str:
    """Why a fixed file is no model any more; empty where it is one."""
    from onnxlint_cmsis.open_model import open_model

    try:
        open_model(str(model), make_settings(str(model)).analysis)
    except ModelError as error:
        return f"the fixed file is no model: {error.message}"
    return ""


def read_alone(_name: str, _folder: Path, model: Path, _original: Path) -> Ended:
    """Load an ONNX model and do nothing else."""
    try:
        load("m.onnx", data=model.read_bytes())
    except ModelError:
        return Ended(2)
    return Ended(0)


def work(args: argparse.Namespace) -> None:
    """Look at the models of a range of numbers; print each command before it starts, and what went wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    files = models(args.folders)
    warm_up(files, args.commands)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for number in range(args.first, args.first + args.count):
            look(args, number, files, Path(folder))
    print(DONE, flush=True)


def warm_up(files: list[Path], commands: tuple[str, ...]) -> None:
    """Fix some sound models, so that what fixes import is here once, not in the process of each fix."""
    if {"diff", "fix"}.intersection(commands):
        small = sorted(files, key=lambda path: path.stat().st_size)
        for path in small[:: len(small) // WARMING + 1]:
            fix_one(Job(str(path), make_settings(str(path)), fix="diff"))
    gc.collect()
    gc.freeze()  # its pages stay shared with those processes


def look(args: argparse.Namespace, number: int, files: list[Path], folder: Path) -> None:
    """Run the commands on one damaged model."""
    chance = random.Random(args.seed * 1_000_003 + number)
    path = chance.choice(files)
    sound = path.read_bytes()
    data = mutated(sound, chance, args.kind)
    if args.keep:
        Path(args.keep, f"{number}_{path.name}").write_bytes(data)
    suffix = path.suffix.lower()
    original, model = folder / f"original{suffix}", folder / f"model{suffix}"
    original.write_bytes(sound)
    told, readable = sys.stdout, False
    for name in args.commands:
        if name in STEPS and is_tflite_path(str(model)) and not STEPS[name].tflite:
            continue
        run: Callable[[str, Path, Path, Path], Ended] = read_alone if name == READ else run_step
        model.write_bytes(data)
        print(f"at {number} {path.name} {name}", file=told, flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(6 * SECONDS)
        try:
            code, trouble = run(name, folder, model, original)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            code, trouble = 2, f"{type(error).__name__}: {error} at {place.filename}:{place.lineno}"
            if args.verbose:
                traceback.print_exc()
        if trouble:
            print(f"error {number} {path.name} {name}: {' '.join(trouble.split())[:400]}", file=told, flush=True)
        readable = readable or code != 2
    if readable:
        print(READABLE, flush=True)
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.alarm(0)
    for left in folder.iterdir():
        left.unlink()


def models(folders: list[str]) -> list[Path]:
    """Every model file below the folders."""
    return sorted(path for folder in folders for path in Path(folder).rglob("*") if path.name.endswith(SUFFIXES))


def outcomes(args: argparse.Namespace, numbers: range) -> Iterator[str]:
    """What went wrong with the models of a range, and READABLE for each that a command took.

    A process that ends is started again behind the model it was at.
    """
    first, began = numbers.start, time.monotonic()
    while first < numbers.stop:
        options = [f"--first={first}", f"--count={numbers.stop - first}", f"--seed={args.seed}", f"--kind={args.kind}"]
        options += [f"--commands={','.join(args.commands)}", f"--keep={args.keep}"]
        options += ["--verbose"] if args.verbose else []
        command = [sys.executable, __file__, *args.folders, *options, "--work"]
        at, number = "", first - 1
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout or ():
                if line.startswith("error "):
                    yield line.rstrip()
                elif line.startswith("at "):
                    at = line.removeprefix("at ").rstrip()
                    if int(at.split()[0]) > number > numbers.start and number % 1000 == 999:
                        print(f"{number + 1}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
                    number = int(at.split()[0])
                elif line.rstrip() == DONE:
                    return
                else:
                    yield line.rstrip()
        yield f"error {at or first}: its process ended {ending(process.wait())}"
        first = number + 1 if at else numbers.stop


def ending(code: int) -> str:
    """How a process ended."""
    with contextlib.suppress(ValueError):
        if code < 0:
            return f"with {signal.Signals(-code).name}"
    return f"with exit code {code}"


def chosen(text: str) -> tuple[str, ...]:
    """The names of commands, separated by commas."""
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in (*STEPS, READ)]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}; allowed: {', '.join((*STEPS, READ))}")
    return names


def main(argv: list[str]) -> int:
    """Look at the models in some processes; 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number to begin with")
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kind", choices=("bytes", "parts", "both"), default="both")
    parser.add_argument("--commands", type=chosen, default=tuple(STEPS), help=f"of {','.join((*STEPS, READ))}")
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

    def told(numbers: range) -> Counter[bool]:
        count: Counter[bool] = Counter()
        for line in outcomes(args, numbers):
            count[line == READABLE] += 1
            if line != READABLE:
                print(line, flush=True)
        return count

    with ThreadPoolExecutor(args.jobs) as pool:
        total = sum(pool.map(told, parts), Counter[bool]())
    print(f"{args.count} damaged models, {total[True]} of them readable, {total[False]} complaints")
    return 1 if total[False] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
