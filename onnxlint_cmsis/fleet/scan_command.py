"""`onnxlint-cmsis scan URL…`: lint thousands of models, a line for each or a data set of Parquet (`--out FOLDER`)."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.api import ENDINGS, SUFFIXES, refuse_unread
from onnxlint_cmsis.cli.options import CommandParser, add_keys, configuration
from onnxlint_cmsis.cli.terminal import say
from onnxlint_cmsis.ground.errors import UsageError

if TYPE_CHECKING:
    from onnxlint_cmsis.cli.api import Settings


DESCRIPTION = (
    "Lint thousands of models, here or on a Dask cluster, and print a line for each with its verdict. With --out, "
    "write a row for each file and each finding into a folder of Parquet files; a scan that was interrupted then "
    "goes on where it stopped. A model that ends its process has a line or a row too. Exit codes: 0 when the scan "
    "came to its end, whatever it found, 2 when it could not start."
)
NEEDED = ("fsspec",)
NEEDED_BY_PARTS = ("pyarrow",)
NEEDED_BY_DASK = ("dask", "distributed")
UNHEEDED = ("output-format", "baseline", "min-level", "exclude", "respect-gitignore")
"""Settings of reports and of the search of folders, which a scan has not."""


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("scan", DESCRIPTION)
    add = parser.judged.add_argument
    add("urls", nargs="+", metavar="URL", help="Folders, patterns or models, here or at s3://, gs://, hf:// …")
    add("--jobs", type=_count, default=1, metavar="N", help="Processes on this machine. Default: 1.")
    add("--dask", metavar="ADDRESS", default="", help="Dask cluster to use instead: tcp://host:8786.")
    add_keys(parser, without=UNHEEDED)
    add = parser.output.add_argument
    add("--out", default="", metavar="FOLDER", help="Parquet files to write or go on with; a folder or URL.")
    add("--batch", type=_count, default=200, metavar="N", help="Models in one file of --out. Default: 200.")
    return parser


def run(argv: list[str]) -> int:
    """Scan what is not done yet, and tell standard error how it went."""
    args = make_parser().parse_args(argv)
    needed = (*NEEDED, *(NEEDED_BY_PARTS if args.out else ()), *(NEEDED_BY_DASK if args.dask else ()))
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise UsageError(f"scan needs {' and '.join(missing)}: pip install 'onnxlint-cmsis[fleet]'")
    from onnxlint_cmsis.cli.progress import ProgressLine
    from onnxlint_cmsis.fleet.scan import Output, in_processes, scan
    from onnxlint_cmsis.fleet.scan_lines import ModelLines
    from onnxlint_cmsis.fleet.scan_output import PartFolder, whole
    from onnxlint_cmsis.fleet.scanned_model import ScanJob
    from onnxlint_cmsis.fleet.sources import model_urls
    from onnxlint_cmsis.ground.workers import ended_by_signal

    configured = configuration(args)
    settings = {suffix: configured.settings_for(f"model{suffix}") for suffix in SUFFIXES}
    for of_suffix in settings.values():
        refuse_unread(of_suffix)
    output: Output = ModelLines()
    done: set[str] = set()
    if args.out:
        output = parts = PartFolder(args.out, _digest(settings))
        done = parts.done()
    urls = model_urls(args.urls)
    for text in urls.empty:
        say(f"warning: no {ENDINGS} file in {text}")
    jobs = [ScanJob(url, settings[_suffix(url)]) for url in urls.urls if whole(url) not in done]
    progress = ProgressLine(len(jobs) if args.out else 0, "models", least=1)
    try:
        with ended_by_signal():  # rows that wait are written all the same
            if args.dask:
                from onnxlint_cmsis.fleet.cluster import on_dask

                doing = on_dask(args.dask)
            else:
                doing = in_processes(args.jobs)
            statuses = scan(jobs, doing, output, args.batch if args.out else 1, progress.step)
    finally:
        progress.close()
    told = ", ".join(f"{number:,} {status}" for status, number in sorted(statuses.items())) or "none"
    before = f"; done before: {len(urls.urls) - len(jobs):,}" if args.out else ""
    say(f"models scanned: {told}{before}")
    return 0


def _suffix(url: str) -> str:
    """The format that a model is read in, by its name's ending; the first format where it has none of them."""
    return next((suffix for suffix in SUFFIXES if url.lower().endswith(suffix)), SUFFIXES[0])


def _digest(settings: dict[str, Settings]) -> str:
    """What tells settings from others."""
    import hashlib

    raw = [sorted((name, repr(value)) for name, value in setting.raw.items()) for setting in settings.values()]
    return hashlib.sha256(repr(raw).encode()).hexdigest()[:16]


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 up")
    return int(text)
