"""Two versions of a model read, linted and compared, and what changed as text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from onnxlint_cmsis.cli.terminal import columns, wants_color
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    import argparse

    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.cli.versions import Version
    from onnxlint_cmsis.config.files import Configuration
    from onnxlint_cmsis.output.comparison import Figure, ModelDifference, ModelVersion, OutputAnswer
    from onnxlint_cmsis.output.growth_limits import GrowthLimit


class Comparison(NamedTuple):
    """What changed from one version to the next."""

    difference: ModelDifference
    over: tuple[Figure, ...]
    """Figures that grew by more than is allowed."""

    @classmethod
    def of(
        cls, before: Version, after: Version, settings: Configuration, limits: tuple[GrowthLimit, ...], *, run: bool
    ) -> Comparison:
        """Compare two versions; `run` runs them where no proof tells whether outputs are equal. Raises UsageError."""
        from onnxlint_cmsis.output.comparison import difference
        from onnxlint_cmsis.output.growth_limits import exceeded

        (old, earlier), (new, later) = (version_of(given, settings) for given in (before, after))
        differing = difference(old, new)._replace(outputs=_outputs(earlier, later, run=run))
        return cls(differing, exceeded(differing, limits))


def version_of(given: Version, configured: Configuration) -> tuple[ModelVersion, ModelAnalysis]:
    """A version read and linted, and its analysis. Raises UsageError."""
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.analysis.pairing import layer_keys
    from onnxlint_cmsis.cli.engine import layers_report, lint_file
    from onnxlint_cmsis.model.model_error import ModelError
    from onnxlint_cmsis.output.comparison import ModelVersion

    settings = configured.settings_for(given.path)
    try:
        model = ModelAnalysis(given.file, settings.analysis, given.data)
        layers = layers_report(given.file, settings, given.data, model)
    except ModelError as error:
        raise UsageError(f"{given.name}: {error.message}") from None
    result = lint_file(given.path, settings, given.data, model)
    return ModelVersion(given.name, result, layers, layer_keys(model)), model


def _outputs(before: ModelAnalysis, after: ModelAnalysis, *, run: bool) -> OutputAnswer:
    """Tell if two versions compute the same; nothing is run where nobody asks for it, so that a pull request may."""
    from onnxlint_cmsis.analysis.certificate.verifying import why_not_equal
    from onnxlint_cmsis.output.comparison import OutputAnswer

    why = why_not_equal(before, after)
    if not why or not run:
        return OutputAnswer(not why, why or "")
    from onnxlint_cmsis.cli.compare_run import BothVersions, outputs_of_both

    shapes = before.settings.input_shapes
    given = BothVersions(before.format, before.path, before.data, after.format, after.data, shapes)
    return OutputAnswer(False, why, outputs_of_both(given))


def rendered(args: argparse.Namespace, compared: Comparison) -> str:
    """A comparison as text or as Markdown."""
    if args.form == "markdown":
        from onnxlint_cmsis.output.comparison_markdown import comparison_markdown

        return comparison_markdown(*compared)
    from onnxlint_cmsis.output.comparison_text import comparison_text

    return comparison_text(*compared, columns(), color=wants_color(args.color, sys.stdout))
