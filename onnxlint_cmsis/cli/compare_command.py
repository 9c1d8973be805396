"""`onnxlint-cmsis compare BEFORE AFTER`: what a change of a model means on a Cortex-M."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.options import CommandParser, add_color, add_form, add_keys, columns, configuration, wants_color
from onnxlint_cmsis.config.settings import KEYS as SETTINGS
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.output.plain import json_text

if TYPE_CHECKING:
    import argparse

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.config.files import Configuration
    from onnxlint_cmsis.output.comparison import Figure, ModelDifference, ModelVersion, OutputAnswer


DESCRIPTION = (
    "Compare two versions of a model: findings that came and went, predicted instructions, MACs, bytes of constants "
    "(flash), of activations (arena) and of scratch, the layers that changed, and whether outputs are equal for every "
    "input, as `verify` tells, or with --run on 16 inputs. A version is a file or a file of a "
    "git commit, as in git: HEAD:models/kws.onnx. Figures that can have a limit: findings, instructions, "
    "most_instructions, macs, flash, arena, scratch, unknown_layers. Exit codes: 0, or 1 where a figure grew by more "
    "than --fail-on-increase allows, 2 where a version cannot be read."
)

KEYS = tuple(key.name for key in SETTINGS if key.option and key.name not in ("output-format", "baseline", "min-level"))
"""Settings that decide what is found."""


def make_parser() -> CommandParser:
    """The options of the command."""
    parser = CommandParser("compare", DESCRIPTION)
    add = parser.judged.add_argument
    add("before", metavar="BEFORE", help="The version before: a file, or COMMIT:PATH of git.")
    add("after", metavar="AFTER", help="The version after.")
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
    from onnxlint_cmsis.output.comparison import difference, exceeded, growth_limits

    args = make_parser().parse_args(argv)
    limits = growth_limits(args.fail_on_increase)
    settings = configuration(args)
    before, after = (version_of(text, settings) for text in (args.before, args.after))
    differing = difference(before[0], after[0])._replace(outputs=_outputs(before[1], after[1], run=args.run))
    over = exceeded(differing, limits)
    sys.stdout.write(_rendered(args, differing, over))
    return 1 if over else 0


def version_of(text: str, configured: Configuration) -> tuple[ModelVersion, ModelAnalysis]:
    """A file, or a file of a git commit, read and linted, and its analysis. Raises UsageError."""
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.cli.engine import layers_report, lint_file
    from onnxlint_cmsis.model.graph import ModelError
    from onnxlint_cmsis.output.comparison import ModelVersion, operand

    given = operand(text)
    settings = configured.settings_for(given.path)
    try:
        model = ModelAnalysis(given.path, settings.analysis, given.data)
        layers = layers_report(given.path, settings, given.data, model)
    except ModelError as error:
        raise UsageError(f"{text}: {error.message}") from None
    return ModelVersion(text, lint_file(given.path, settings, given.data, model), layers), model


def _outputs(before: ModelAnalysis, after: ModelAnalysis, *, run: bool) -> OutputAnswer:
    """Whether two versions compute the same; nothing is run where nobody asks for it, so that a pull request may."""
    from onnxlint_cmsis.analysis.certified import why_not_equal
    from onnxlint_cmsis.output.comparison import OutputAnswer

    why = why_not_equal(before, after)
    if not why or not run:
        return OutputAnswer(not why, why)
    from onnxlint_cmsis.cli.jobs import BothVersions, outputs_of_both

    shapes = before.settings.input_shapes
    given = BothVersions(before.format, before.path, before.data, after.format, after.data, shapes)
    return OutputAnswer(False, why, outputs_of_both(given))


def _rendered(args: argparse.Namespace, differing: ModelDifference, over: tuple[Figure, ...]) -> str:
    if args.form == "json":
        from onnxlint_cmsis.output.comparison_text import comparison_json

        return json_text(comparison_json(differing, over))
    if args.form == "markdown":
        from onnxlint_cmsis.output.comparison_text import comparison_markdown

        return comparison_markdown(differing, over)
    from onnxlint_cmsis.output.comparison_text import comparison_text

    return comparison_text(differing, over, columns(), color=wants_color(args.color, sys.stdout))
