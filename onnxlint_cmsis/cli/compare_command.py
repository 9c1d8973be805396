"""`onnxlint-cmsis compare BEFORE AFTER`: what a change of a model means on a Cortex-M."""

from __future__ import annotations

import sys

from onnxlint_cmsis.cli.compare_versions import Comparison, rendered
from onnxlint_cmsis.cli.options import CommandParser, add_keys, configuration
from onnxlint_cmsis.cli.output_options import add_color, add_form
from onnxlint_cmsis.cli.versions import opened
from onnxlint_cmsis.config.settings import KEYS as SETTINGS
from onnxlint_cmsis.formats.format import array_in, is_image
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.output.foreign_text import json_text

DESCRIPTION = (
    "Compare two versions of a model: findings that came and went, predicted instructions, MACs, bytes of constants "
    "(flash), of activations (arena) and of scratch, the layers that changed, and whether outputs are equal for every "
    "input, as `verify` tells, or with --run on 16 inputs. A version is a file or a file of a "
    "git commit, as in git: HEAD:models/kws.onnx. With --base, every model and ELF below the paths that differs from "
    "that commit is compared: changed, renamed, or with other external data; new and deleted ones are named. "
    "An ELF has to be in the commit, or named. Of two "
    "firmware images or libraries it tells what the build changed: core, compiler, release, optimization, runtime, "
    "operators, functions, models, arena, RAM and flash; flash, ram and arena can have a limit. Figures of models "
    "that can have a limit: findings, instructions, most_instructions, macs, flash, arena, scratch, unknown_layers. "
    "Exit codes: 0, or 1 where a figure grew by more than --fail-on-increase allows, 2 where a version cannot be read."
)
KEYS = tuple(key.name for key in SETTINGS if key.option and key.name not in ("output-format", "baseline", "min-level"))
"""Settings that decide what is found."""


def make_parser() -> CommandParser:
    """The options of the command."""
    usage = "%(prog)s [options] BEFORE AFTER\n       %(prog)s [options] --base COMMIT [PATH ...]"
    parser = CommandParser("compare", DESCRIPTION, usage=usage)
    add = parser.judged.add_argument
    text = "The version before and the one after, each a file or COMMIT:PATH of git; with --base files and folders."
    add("paths", nargs="*", metavar="PATH", help=text)
    text = "Compare the models of the work tree with those of this commit, whatever files are named like it."
    add("--base", metavar="COMMIT", default="", help=text)
    add_keys(parser, KEYS)
    text = "Figures that may not grow, or by how much: instructions=2%%,arena=0."
    add = parser.findings.add_argument
    add("--fail-on-increase", metavar="MAX", action="append", default=[], help=text)
    text = "Run both versions on 16 inputs where outputs are not known to be equal."
    add("--run", action="store_true", help=text)
    add_form(parser, "markdown")
    add_color(parser)
    return parser


def run(argv: list[str]) -> int:
    """Print what changed; 1 where a figure grew too much."""
    from onnxlint_cmsis.output.growth_limits import growth_limits

    args = make_parser().parse_mixed(argv, "paths")
    if len(args.paths) == 2 and not args.base and _are_images(*args.paths):
        from onnxlint_cmsis.cli.compare_images import METRICS, compare_images

        with opened(*args.paths) as (before, after):
            return compare_images(before, after, growth_limits(args.fail_on_increase, METRICS), args.form)
    settings = configuration(args)
    if args.base:
        from onnxlint_cmsis.cli.compare_base import compare_with_base

        return compare_with_base(args, settings)
    limits = growth_limits(args.fail_on_increase)
    if len(args.paths) != 2:
        raise UsageError(f"compare takes two versions, BEFORE and AFTER, or --base COMMIT; given are {len(args.paths)}")
    with opened(*args.paths) as (before, after):
        compared = Comparison.of(before, after, settings, limits, run=args.run)
    if args.form == "json":
        from onnxlint_cmsis.output.comparison_json import comparison_json

        sys.stdout.write(json_text(comparison_json(compared.difference, compared.over)))
    else:
        sys.stdout.write(rendered(args, compared))
    return 1 if compared.over else 0


def _are_images(*paths: str) -> bool:
    """Tell if all versions are firmware images or libraries. Raises UsageError where one is and another is a model."""
    images = [path for path in paths if is_image(path) and not array_in(path)]
    if images and len(images) != len(paths):
        raise UsageError(f"{images[0]} is an image, the other version a model: the model in it is {images[0]}::NAME")
    return bool(images)
