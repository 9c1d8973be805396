"""One run of the program: a model, perhaps a second one, on some boards; and its reports."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from firmware_check.blame import blamed
from firmware_check.board_run import inputs_of, run_on_board
from firmware_check.build import Bench
from firmware_check.compare import Comparison, check_interfaces, compare_checks
from firmware_check.errors import FirmwareError
from firmware_check.onnx_answers import Arrays
from firmware_check.opening import OpenedModel, Options, open_model
from firmware_check.reports import data, pages, sarif, text
from firmware_check.target_check import Failure, TargetCheck
from firmware_check.too_large import refuse_too_large
from onnxlint_cmsis.output.foreign_text import json_text

if TYPE_CHECKING:
    from firmware_check.keep import Kept
    from firmware_check.library import Library


class CheckSession:
    """What was checked so far."""

    def __init__(self, library: Library, options: Options, folder: Path, kept: Kept | None = None) -> None:
        self._library = library
        self._options = options
        self._folder = folder
        self._kept = kept
        self.checks: list[TargetCheck] = []
        self.comparisons: list[Comparison] = []
        self.failures: list[Failure] = []

    @property
    def agrees(self) -> bool:
        """Tell whether everything is as predicted and right; of a repaired model what it was before does not count."""
        return all(check.right for check in self._counted) and all(comparison.agrees for comparison in self.comparisons)

    @property
    def _counted(self) -> list[TargetCheck]:
        """The checks without those of models that were repaired."""
        repaired = [comparison.before for comparison in self.comparisons if comparison.repaired]
        return [check for check in self.checks if not any(check is other for other in repaired)]

    def run(self, paths: list[str], benches: list[Bench], per_layer: bool, strict: bool) -> None:
        """Check a model on every bench; a second one with the same inputs, and hold the one against the other.

        With several benches, one that the check cannot run on is a failure beside the others' reports.

        Raises:
            FirmwareError: a model cannot be firmware, or the check cannot run on the only bench.

        """
        for path in paths:
            if not per_layer:
                refuse_too_large(path, [bench.board for bench in benches], self._options)
        models = []
        for path, name in zip(paths, ("before", "after"), strict=False):
            folder = self._folder / name
            folder.mkdir()
            models.append(open_model(path, self._library, self._options, folder))
        if self._options.calibration and not any(model.quantized_here for model in models):
            raise FirmwareError(f"--calibration is for float models; {' and '.join(paths)}: quantized already")
        if len(models) > 1:
            check_interfaces(models[0], models[1])
        inputs = inputs_of(models[0], self._options.seed, self._options.runs)
        for bench in benches:
            try:
                self._on_bench(bench, models, inputs, per_layer, strict)
            except FirmwareError as error:
                if len(benches) == 1:
                    raise
                self.failures.append(Failure(bench.board.cpu, bench.compiler.name, str(error)))
        self.checks = blamed(self.checks)

    def _on_bench(
        self, bench: Bench, models: list[OpenedModel], inputs: list[Arrays], per_layer: bool, strict: bool
    ) -> None:
        checks = []
        for number, model in enumerate(models):
            folder = self._folder / f"{bench.board.cpu}-{bench.compiler.name}-{number}"
            folder.mkdir()
            with self._kept.afterwards(folder, number, bench) if self._kept else nullcontext():
                checks.append(run_on_board(model, bench, inputs, folder, per_layer))
        both = [compare_checks((models[0], models[1]), (checks[0], checks[1]), inputs, strict)] if checks[1:] else []
        self.checks += checks
        self.comparisons += both

    def text(self, trace: bool) -> str:
        """For a terminal; `trace` adds the tree of functions that ran in each layer."""
        parts: list[str] = []
        for check in self.checks:
            parts.append(text.report(check))
            if trace:
                parts += [text.tree(layer) for layer in check.layers]
        parts += [text.comparison(comparison) for comparison in self.comparisons]
        ends = "".join(map(text.folded, text.default_lines(self.checks)))
        return text.library_line(self._library) + "\n".join([*parts, *([ends] if ends else [])])

    def json(self) -> str:
        """All checks, comparisons and failures as JSON."""
        return json_text(data.report(self._library, self.checks, self.comparisons, self.failures))

    def markdown(self) -> str:
        """All reports as Markdown, comparisons first."""
        parts = [pages.library_report(self._library)]
        parts += [pages.comparison_report(comparison) for comparison in self.comparisons]
        parts += [pages.check_report(check) for check in self.checks]
        parts += [pages.failure_report(failure) for failure in self.failures]
        return "\n".join([*parts, pages.default_report(self.checks)]).rstrip("\n") + "\n"

    def sarif(self, category: str) -> str:
        """What disagrees, as SARIF; with a category where it is not empty."""
        return sarif.render(self._counted, self.comparisons, str(Path.cwd()), category, complete=not self.failures)

    def plot(self, path: str) -> None:
        """Draw instructions per layer."""
        from firmware_check.reports.svg import plot

        plot(path, self.checks, self.comparisons)
