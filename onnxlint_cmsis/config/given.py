"""Settings as Python gives them: a type for each key, so that a type checker knows their names and values."""

from __future__ import annotations

from typing import TypedDict

TextList = list[str] | tuple[str, ...]
"""Several texts; a single one is no list."""
Amount = int | str | dict[str, int] | dict[str, str] | dict[str, int | str]
"""Bytes or hertz, with a unit or not, of all CPUs or by CPU."""
Sizes = dict[str, list[int]] | dict[str, list[int | str]]
"""Sizes by name of an input; `?` leaves one open."""


class SettingValues(TypedDict, total=False):
    """The keys of the configuration with underscores; `tests/test_api.py` holds them against the table of keys."""

    targets: TextList
    release: str
    api: str
    runtime: str
    cmsis_nn_build: str
    board: str | dict[str, str]
    ram: Amount
    flash: Amount
    stack: Amount
    clock: Amount
    weights_in: Amount
    arena_in: Amount
    code_cache: Amount
    timing: str
    firmware: str
    compiler: str
    assume: str
    float_weights: str
    float_scratch: str
    float_build: str
    float_contract: str
    one_channel: str
    input_shapes: Sizes
    select: TextList
    ignore: TextList
    extend_select: TextList
    extend_ignore: TextList
    fixable: TextList
    unfixable: TextList
    extend_fixable: TextList
    per_file_ignores: dict[str, list[str]]
    levels: dict[str, str]
    fail_on: str
    min_level: str
    exclude: TextList
    respect_gitignore: bool
    suppress: list[dict[str, str]]
    baseline: str
    output_format: str
    fix_policy: str
    align: int
    min_gain: float | str
    most_instructions: float | str
    fix_budget_bytes: int | str
    unsafe_fixes: bool
    weights: bool
    size_checks_limit: int | str
    size_checks_layers: int | str
