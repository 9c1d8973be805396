"""Run commands on damaged models: python scripts/mutate_models.py FOLDER... [--count 100000] [--seed 1] [--jobs 2].

Each number is one model file of the folders, or a firmware image or library, damaged in a way that the seed and the
number decide. It goes through every command that takes one, on a copy in a folder in memory, in one process of limited
memory and time. A command is printed that tells of an internal error, raises, ends its process, takes over ten seconds,
holds too much memory or leaves a file behind, and a fix whose file is no model any more; the exit code is then 1. A fix
or a reading for firmware that ends the process, which ONNX Runtime may do, is run again as the command runs it: in
another process.

`--first N --count 1` looks at one number again, `--keep FOLDER` writes what it looks at, `--commands` names the
commands, `--tenth` those that only every tenth number goes through, and `--in-turn` those of which each number takes
one. Every minute tells standard error how often each command was run, and the end what each took at most.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import random
import resource
import shutil
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
from onnxlint_cmsis.cli.jobs import Job, fix_one  # noqa: E402
from onnxlint_cmsis.cli.main import main as command_line  # noqa: E402
from onnxlint_cmsis.config.files import make_settings  # noqa: E402
from onnxlint_cmsis.formats.format import ONNX, format_of, is_model  # noqa: E402
from onnxlint_cmsis.formats.onnx.load import load  # noqa: E402
from onnxlint_cmsis.ground import workers  # noqa: E402
from onnxlint_cmsis.model.model_error import ModelError  # noqa: E402

MEMORY = 2_500_000_000
"""Bytes of address space that the process may take."""
HELD = 1_000_000_000
"""Bytes of memory that one command may hold; a complaint beyond."""
SECONDS = 10.0
"""Time of the processor that one command may take; a complaint beyond, and twice that ends the process."""
CLOCK = 600
"""Seconds by the clock after which a command ends its process, on a busy machine too."""
RESIDENT = Path("/proc/self/status")
FORGET_PEAK = Path("/proc/self/clear_refs")
WARMING = 15
"""Sound models that are looked at before the damaged ones."""
DONE = "done"
READABLE = "readable"
EXIT_CODES = (0, 1, 2)
FIXES = ("diff", "fix")
"""Commands that have their work done in another process."""
MINUTE = 60.0
"""Seconds between two lines that tell how far a run is."""
READ = "read"
"""Not a command: the reader of ONNX files alone."""
FIRMWARE = "firmware"
"""Not a command: what `firmware_check` reads of a model, up to the C that it would compile."""
FLOAT = "firmware-float"
"""The same for layers that stay float."""
IMAGES = (".elf", ".axf", ".a", ".hex", ".uf2")
"""Endings of firmware images and libraries; `.bin` is external data too."""
SCAN = "scan"
"""Not run as a command, which would start a process for each model."""
LINT = ("lint", "{model}", "--config", "size-checks-limit=unlimited", "--config", "size-checks-layers=unlimited")


class Step(NamedTuple):
    """One command as it is run on each model."""

    argv: tuple[str, ...]
    """Its words; `{model}` is the copy, `{original}` the file as it was, `{page}` a file to write."""
    onnx_alone: bool = False
    """Whether it takes no other format."""
    image: bool = False
    """Whether it takes firmware images and libraries, and no models."""
    settings: bool = True
    """Whether it reads settings, which `--isolated` keeps out."""
    formats: tuple[str, ...] = ()
    """Forms of the output; the number of the model chooses one."""


STEPS = {
    "lint": Step((*LINT, "--ram", "2K", "--flash", "1K", "--target", "m4,m55", "--explain")),
    "lint-direct": Step((*LINT, "--runtime", "direct", "--output-format", "json")),
    "lint-tflm": Step((*LINT, "--runtime", "tflm", "--output-format", "concise", "--config", "cmsis-nn-build=SIZE")),
    "lint-sarif": Step(("lint", "{model}", "--output-format", "sarif")),
    "lint-executorch": Step((*LINT, "--runtime", "executorch", "--output-format", "concise")),
    "lint-tvm": Step((*LINT, "--runtime", "tvm", "--output-format", "concise")),
    "layers": Step(
        ("layers", "{model}", "--target", "m0,m55", "--clock", "80MHz", "--against-host"), formats=("text", "json", "c")
    ),
    "layers-legacy": Step(("layers", "{model}", "--api", "legacy"), onnx_alone=True),
    "memory": Step(("memory", "{model}", "--target", "m4,m55"), formats=("text", "json")),
    "report": Step(("report", "{model}", "-o", "{page}", "--against", "{original}")),
    "compare": Step(("compare", "{original}", "{model}"), formats=("text", "json", "markdown")),
    "verify": Step(("verify", "{original}", "{model}")),
    "widths": Step(("widths", "{model}"), formats=("text", "json")),
    "diff": Step(("{model}", "--diff")),
    "fix": Step(("{model}", "--fix", "--output-format", "json")),
    "image": Step(("image", "{model}"), image=True, settings=False, formats=("text", "json")),
    "image-lint": Step(("lint", "{model}"), image=True, formats=("full", "json", "sarif")),
    "image-compare": Step(("compare", "{original}", "{model}"), image=True, formats=("text", "json", "markdown")),
}
"""Every command that takes a model or an image; `shape` takes sizes."""


class Here:
    """A worker of fixes that does them in this process, which is limited already: a fork costs more than most fixes."""

    def give(self, fix: Callable[[Job], object], job: Job) -> None:
        """Do it."""
        self._result = fix(job)

    def take(self) -> object:
        """What it returned."""
        return self._result


@contextlib.contextmanager
def team_here(size: int) -> Iterator[list[Here]]:
    """In place of `workers.team`: so many workers of this process."""
    yield [Here() for _ in range(size)]


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    """Its exit code."""
    trouble: str = ""
    """What is wrong with that; empty for nothing."""


def run_step(name: str, folder: Path, model: Path, original: Path, number: int) -> Ended:
    """Run one command on the model of a number."""
    places = {"{model}": str(model), "{original}": str(original), "{page}": str(folder / "page.html")}
    before = model.read_bytes()
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        step = STEPS[name]
        form = ("--output-format", step.formats[number % len(step.formats)]) if step.formats else ()
        isolated = ("--isolated",) if step.settings else ()
        code = command_line([*(places.get(word, word) for word in step.argv), *form, *isolated, "-v"])
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
    frame = next((line.strip() for line in reversed(lines) if line.startswith('  File "')), "")
    if told.startswith(("onnxlint-cmsis: error: --", "onnxlint-cmsis: error: unrecognized arguments")):
        return f"its command line is wrong: {told}"
    for line in lines:
        if "internal error" in line or ("its process ended" in line and "ONNX Runtime" not in line):
            what = line.partition("internal error: ")[2].partition("; please report it")[0]
            return f"{what or line} at {frame}"
    return ""


def no_model(model: Path) -> str:
    """Why a fixed file is no model any more; empty where it is one."""
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis

    try:
        ModelAnalysis(str(model), make_settings(str(model)).analysis)
    except ModelError as error:
        return f"the fixed file is no model: {error.message}"
    return ""


def read_alone(_name: str, _folder: Path, model: Path, _original: Path, _number: int) -> Ended:
    """Load an ONNX model and do nothing else."""
    try:
        load("m.onnx", data=model.read_bytes())
    except ModelError:
        return Ended(2)
    return Ended(0)


def read_as_firmware(name: str, folder: Path, model: Path, _original: Path, _number: int) -> Ended:
    """Do what `firmware_check` does with a model before it compiles and behind: read it, run the reference, write C."""
    from firmware_check.arena import plan
    from firmware_check.board_run import inputs_of
    from firmware_check.emit import model_source
    from firmware_check.errors import FirmwareError
    from firmware_check.library import open_library
    from firmware_check.opening import Options, open_model
    from firmware_check.options import boards_named
    from firmware_check.too_large import refuse_too_large

    library, options = open_library(""), Options({}, runs=2, assume="f32" if name == FLOAT else "")
    (board,) = boards_named(["cortex-m4"], ())
    written = folder / "firmware"
    written.mkdir()
    try:
        refuse_too_large(str(model), [board], options)
        opened = open_model(str(model), library, options, written)
        program = opened.program
        for given in inputs_of(opened, 0, options.runs):
            values = [*program.inputs, *program.outputs, *(value for step in program.steps for value in step.inputs)]
            known = opened.reference.tensors([value.tensor for value in values], given)
            for value in values:
                value.to_memory(value.held(known[value.tensor]))
        model_source(program, plan(program, 0), board, library, "")
    except FirmwareError:
        return Ended(2)
    finally:
        shutil.rmtree(written)
    return Ended(0)


def scan_alone(_name: str, folder: Path, model: Path, _original: Path, _number: int) -> Ended:
    """Do what `scan` does with a model in one of its processes, and write its rows."""
    from onnxlint_cmsis.fleet.scan_output import PartFolder
    from onnxlint_cmsis.fleet.scan_rows import ERROR, UNREADABLE
    from onnxlint_cmsis.fleet.scanned_model import ScanJob, scan_model

    rows = scan_model(ScanJob(model.as_uri(), make_settings(str(model))))
    out = folder / "parts"
    PartFolder(str(out), "").add(rows)
    shutil.rmtree(out)
    code = 2 if rows[0].status == UNREADABLE else 0
    return Ended(code, f"a row of an error: {rows[0].message}" if rows[0].status == ERROR else "")


OTHERS: dict[str, Callable[[str, Path, Path, Path, int], Ended]] = {
    READ: read_alone, FIRMWARE: read_as_firmware, FLOAT: read_as_firmware, SCAN: scan_alone,
}  # fmt: skip
"""What is no command, by its name."""


def work(args: argparse.Namespace) -> None:
    """Look at the models of a range of numbers; print each command before it starts, and what went wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    files = models(args.folders)
    gc.set_threshold(100_000, 20, 20)
    if not args.apart:
        workers.team = team_here  # type: ignore[assignment]
        workers.ready = list  # type: ignore[assignment]
        warm_up(files, args.commands)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        for number in range(args.first, args.first + args.count):
            look(args, number, files, Path(folder))
    print(DONE, flush=True)


def warm_up(files: list[Path], commands: tuple[str, ...]) -> None:
    """Fix some sound models, so that importing counts for no model's time."""
    if set(FIXES).intersection(commands):
        small = sorted((path for path in files if not is_firmware(path)), key=lambda path: path.stat().st_size)
        for path in small[:: len(small) // WARMING + 1]:
            fix_one(Job(str(path), make_settings(str(path)), fix="diff"))
    gc.collect()
    gc.freeze()  # no collection looks at the modules again


def look(args: argparse.Namespace, number: int, files: list[Path], folder: Path) -> None:
    """Run the commands on one damaged model."""
    chance = random.Random(args.seed * 1_000_003 + number)
    path = chance.choice(files)
    sound = path.read_bytes()
    data = mutated(sound, chance, args.kind)
    if args.keep:
        Path(args.keep).mkdir(parents=True, exist_ok=True)
        Path(args.keep, f"{number}_{path.name}").write_bytes(data)
    suffix = path.suffix.lower()
    original, model = folder / f"original{suffix}", folder / f"model{suffix}"
    original.write_bytes(sound)
    told, readable = sys.stdout, False
    for name in args.commands:
        if name in args.tenth and number % 10:
            continue
        if name in args.in_turn and args.in_turn[number % len(args.in_turn)] != name:
            continue
        if (name in STEPS and STEPS[name].image) != is_firmware(model):
            continue
        if format_of(str(model)) != ONNX and (name in (READ, FLOAT) or (name in STEPS and STEPS[name].onnx_alone)):
            continue
        run = OTHERS.get(name, run_step)
        model.write_bytes(data)
        print(f"at {number} {path.name} {name}", file=told, flush=True)
        signal.setitimer(signal.ITIMER_PROF, 2 * SECONDS)
        signal.alarm(CLOCK)
        began = time.process_time()
        forget_peak()
        try:
            code, trouble = run(name, folder, model, original, number)
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            code, trouble = 2, f"{type(error).__name__}: {error} at {frame.filename}:{frame.lineno}"
            if args.verbose:
                traceback.print_exc()
        cost = Cost(time.process_time() - began, peak())
        print(f"took {name} {cost.seconds:.3f} {cost.bytes}", file=told, flush=True)
        trouble = trouble or cost.complaint()
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
    """Every model, image and library below the folders."""
    paths = (path for folder in folders for path in Path(folder).rglob("*"))
    return sorted(path for path in paths if is_model(path.name) or is_firmware(path))


def is_firmware(path: Path) -> bool:
    """Tell whether a file is named like a firmware image or a library."""
    return path.suffix.lower() in IMAGES


class Cost(NamedTuple):
    """What one command took."""

    seconds: float
    """Of the processor."""
    bytes: int
    """Of memory that the process held at most."""

    def complaint(self) -> str:
        """What is too much; empty where nothing is."""
        if self.seconds > SECONDS:
            return f"it took {self.seconds:.1f} seconds"
        return f"it held {self.bytes:,} bytes" if self.bytes > HELD else ""

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.bytes / 1e6:.0f} MB"


def forget_peak() -> None:
    """Let the peak of the memory begin again, where the system has that."""
    with contextlib.suppress(OSError):
        FORGET_PEAK.write_text("5")


def peak() -> int:
    """Bytes that the process held at most since `forget_peak`; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        line = next((line for line in RESIDENT.read_text().splitlines() if line.startswith("VmHWM")), "")
        return 1024 * int(line.split()[1]) if line else 0
    return 0


class Progress:
    """How far a run is, of all its processes together."""

    def __init__(self) -> None:
        self._began = self._told = time.monotonic()
        self.models = 0
        """Damaged models that a process began with."""
        self.runs: Counter[str] = Counter()
        """How often each command was run."""
        self.most: dict[str, Cost] = {}
        """What each command took at most, of time and of memory."""

    def count(self, name: str, *, new: bool) -> None:
        """Count a command that starts, on a model that is new or not, and tell once a minute."""
        self.models += new
        self.runs[name] += 1
        if time.monotonic() > self._told + MINUTE:
            self._told = time.monotonic()
            print(f"{self._told - self._began:.0f} s: {self}", file=sys.stderr, flush=True)

    def add(self, line: str) -> None:
        """Note what a command took."""
        name, seconds, held = line.split()
        most = self.most.get(name, Cost(0.0, 0))
        self.most[name] = Cost(max(most.seconds, float(seconds)), max(most.bytes, int(held)))

    def __str__(self) -> str:
        runs = ", ".join(f"{name} {count}" for name, count in self.runs.items())
        return f"{self.models} damaged models ({runs})"


def outcomes(args: argparse.Namespace, numbers: range, progress: Progress | None = None) -> Iterator[str]:
    """What went wrong with the models of a range, and READABLE for each that a command took.

    A process that ends is started again behind the model it was at. Without `progress` fixes run in other processes.
    """
    first = numbers.start
    while first < numbers.stop:
        options = [f"--first={first}", f"--count={numbers.stop - first}", f"--seed={args.seed}", f"--kind={args.kind}"]
        options += [f"--commands={','.join(args.commands)}", f"--tenth={','.join(args.tenth)}", f"--keep={args.keep}"]
        options += [f"--in-turn={','.join(args.in_turn)}"]
        options += ["--verbose"] if args.verbose else []
        options += [] if progress else ["--apart"]
        command = [sys.executable, __file__, *args.folders, *options, "--work"]
        at, number = "", first - 1
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout or ():
                if line.startswith("error "):
                    yield line.rstrip()
                elif line.startswith("took "):
                    if progress:
                        progress.add(line.removeprefix("took "))
                elif line.startswith("at "):
                    at = line.removeprefix("at ").rstrip()
                    if progress:
                        progress.count(at.split()[-1], new=int(at.split()[0]) > number)
                    number = int(at.split()[0])
                elif line.rstrip() == DONE:
                    return
                else:
                    yield line.rstrip()
        code = process.wait()
        first = number + 1 if at else numbers.stop
        name = at.split()[-1] if at else ""
        if progress and name in (*FIXES, FIRMWARE, FLOAT):
            again = argparse.Namespace(**{**vars(args), "commands": FIXES if name in FIXES else (name,)})
            yield from outcomes(again, range(number, number + 1))
        else:
            yield f"error {at or first}: its process ended {ending(code)}"


def ending(code: int) -> str:
    """How a process ended."""
    with contextlib.suppress(ValueError):
        if code < 0:
            return f"with {signal.Signals(-code).name}"
    return f"with exit code {code}"


def chosen(text: str) -> tuple[str, ...]:
    """The names of commands, separated by commas."""
    names = tuple(text.split(",")) if text else ()
    unknown = [name for name in names if name not in (*STEPS, *OTHERS)]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}; allowed: {', '.join((*STEPS, *OTHERS))}")
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
    parser.add_argument("--commands", type=chosen, default=tuple(STEPS), help=f"of {','.join((*STEPS, *OTHERS))}")
    parser.add_argument("--tenth", type=chosen, default=(), help="commands for every tenth number alone")
    parser.add_argument("--in-turn", type=chosen, default=(), help="commands of which each number takes one")
    parser.add_argument("--keep", default="", help="folder to write the damaged models to")
    parser.add_argument("--verbose", action="store_true", help="print where each error was raised")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--apart", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if not models(args.folders):
        parser.error("the folders hold no models")
    if args.work:
        work(args)
        return 0
    step = -(-args.count // args.jobs)
    end = args.first + args.count
    parts = [range(start, min(start + step, end)) for start in range(args.first, end, step)]

    progress = Progress()

    def told(numbers: range) -> Counter[bool]:
        count: Counter[bool] = Counter()
        for line in outcomes(args, numbers, progress):
            count[line == READABLE] += 1
            if line != READABLE:
                print(line, flush=True)
        return count

    with ThreadPoolExecutor(args.jobs) as pool:
        total = sum(pool.map(told, parts), Counter[bool]())
    print(progress, file=sys.stderr)
    print("at most:", "; ".join(f"{name} {cost}" for name, cost in progress.most.items()), file=sys.stderr)
    print(f"{args.count} damaged models, {total[True]} of them readable, {total[False]} complaints")
    return 1 if total[False] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
