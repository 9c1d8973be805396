"""Write docs/ from the rules' docstrings, the keys, the forms of firmware layers and the fields of a fix.

--check tells what is stale.
"""

from __future__ import annotations

import re
import sys
from inspect import cleandoc
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from cost_page import cost_page  # noqa: E402
from cycles_page import cycles_page, silicon_page  # noqa: E402
from evidence_page import evidence_page  # noqa: E402
from firmware_check.operators_as_pairs import computed  # noqa: E402
from firmware_check.reading.builders import OPERATORS  # noqa: E402
from firmware_check.reading.forms import FORMS, LayerForm  # noqa: E402
from onnxlint_cmsis.checks.fix_actions import ACTIONS  # noqa: E402
from onnxlint_cmsis.checks.rule import Rule  # noqa: E402
from onnxlint_cmsis.checks.rule_registry import codes_of, every_rule  # noqa: E402
from onnxlint_cmsis.cli.resolved_settings import toml  # noqa: E402
from onnxlint_cmsis.cmsis_nn.library import all_hazards  # noqa: E402
from onnxlint_cmsis.config.boards import KIB, KNOWN_BOARDS, MHZ  # noqa: E402
from onnxlint_cmsis.config.keys import POLICIES, Key  # noqa: E402
from onnxlint_cmsis.config.schemas import SUPPRESSION_KEYS  # noqa: E402
from onnxlint_cmsis.config.settings import KEYS  # noqa: E402
from onnxlint_cmsis.fixers.planning.repairable import REPAIRS  # noqa: E402
from onnxlint_cmsis.formats.onnx.names import OPERATORS as RECORDS  # noqa: E402
from onnxlint_cmsis.lower.reference_code import REFERENCE_TYPES  # noqa: E402
from onnxlint_cmsis.lower.stored_types import MOVES  # noqa: E402
from report_page import report_page  # noqa: E402
from runtimes_page import runtimes_page  # noqa: E402

CODES = {rule.name: rule.code for rule in every_rule()}

FAMILIES = {
    "0": "files",
    "1": "a faster kernel is missed",
    "2": "channel counts",
    "3": "errors and wrong results of kernels",
    "4": "what a runtime does",
    "5": "quantization",
    "6": "RAM, flash and stack",
    "7": "the build of the firmware",
}
"""What the first digit of a code says."""

CONFIG_HEAD = """# Which settings are there?

Settings stand in `[tool.onnxlint-cmsis]` of `pyproject.toml`, or in `onnxlint-cmsis.toml` without that heading, which
goes first in the same folder. The file nearest to the model counts, in its folder or above.

`--config KEY=VALUE` sets any of them; the value is TOML or a bare word: `--config align=8`, `--config weights-in=tcm`,
`--config 'exclude=["old"]'`. `--config FILE` reads that file instead. Options go before `--config`, and the command
line before the file: its lists replace those of the file; tables, `unfixable` and `extend-*` are added.
`--show-settings` prints all, with where they come from.

Patterns have `*` and `?` within a name and `**` across folders. One without a slash matches any folder or file of that
name; one with a slash starts at the folder of the configuration file. Rules are codes, prefixes or names.
"""

EXAMPLE = f"""
## Example

```toml
[tool.onnxlint-cmsis]
targets = ["cortex-m4", "cortex-m55"]
release = "7.0.0"
fail-on = "error"
extend-ignore = ["{CODES["depthwise-to-conv"]}"]
exclude = ["third_party", "models/old/**"]

[tool.onnxlint-cmsis.levels]
{CODES["conv-1x1"]} = "note"

[tool.onnxlint-cmsis.input-shapes]
image = [1, 3, 96, 96]

[tool.onnxlint-cmsis.per-file-ignores]
"models/demo/*" = ["CNN1"]

[[tool.onnxlint-cmsis.suppress]]
rule = "{CODES["wrong-result"]}"
path = "models/kws.onnx"
node = "Conv_3"
reason = "checked on the board"
```
"""

LIST_HEAD = """
## What can be set?

`onnxlint-cmsis config NAME` explains a setting, with the values that it takes; `onnxlint-cmsis config --schema` prints
a JSON Schema for editors. These have an option of their name, or the one named, which `--help` explains: {options}.

These stand in the file, or behind `--config`:

"""

METADATA = f"""
A model or a node carries a suppression as `onnxlint-cmsis:ignore` in its `metadata_props`, with rules and then the
reason: `conv-1x1-fast,conv-1xn fixed by the next training`. A suppression that matches nothing is reported as
[unused-suppression](rules/{CODES["unused-suppression"]}.md).
"""


FIRMWARE_HEAD = """# What runs as firmware?

[`python -m firmware_check`](firmware-check.md) calls CMSIS-NN for each layer where release and copy have a function for
it, and small reference code elsewhere, which reports name with the reason. A layer without code does not run; the
others then run one by one, on inputs recorded from ONNX Runtime.

Activations are int8 (or uint8), or int16 with zero-point 0; weights are int8, biases int64. Operators stand between
QuantizeLinear and DequantizeLinear; Relu, Clip and the Add of a constant bias right behind them are taken in. Float
models are quantized so first. A layer without a bias gets a NULL pointer for it.

Functions are called from 4.0.0 on, or from the release behind them. Forms:

"""

FIRMWARE_OPERATORS = """
## Which operators?

"""

FIRMWARE_FORMATS = """
Operators on integers are read as those on real numbers, between the same scales: """


def firmware_page() -> str:
    """The page of what firmware_check runs."""
    forms = "".join(f"* {name}: {_functions(form)}{_plain(name, form)}\n" for name, form in FORMS.items())
    operators: dict[tuple[str, str], list[str]] = {}
    for (_, name), row in OPERATORS.items():
        operators.setdefault((" or ".join(row.forms), row.limits), []).append(name)
    rows = "".join(
        f"* {', '.join(dict.fromkeys(names))}: {form}{f' (not: {limits})' if limits else ''}\n"
        for (form, limits), names in operators.items()
    )
    moves = [record.name for record in RECORDS.values() if record.elements in MOVES]
    reals = {name: computed(record) for (_, name), record in RECORDS.items()}
    rows += f"* {', '.join(moves)}: another way to read memory; move where a layer wants an order\n"
    read = ", ".join(
        f"{name}" if name.endswith(real.name) else f"{name} ({real.name})" for name, real in reals.items() if real
    )
    formats = f"{read}.\n"
    return f"{FIRMWARE_HEAD}{forms}{FIRMWARE_OPERATORS}{rows}{FIRMWARE_FORMATS}{formats}"


def _functions(form: LayerForm) -> str:
    """What is called, and since when, if that is later than 4.0.0; functions of several types share a name."""
    names: dict[tuple[str, str], list[str]] = {}
    for row in form.functions:
        stem, _, kind = row.name.rpartition("_")
        names.setdefault((stem, row.since), []).append(kind)
    return ", ".join(
        f"`{stem}_{'/'.join(kinds)}`{'' if since == '4.0.0' else f' ({since})'}"
        for (stem, since), kinds in names.items()
    )


def _plain(name: str, form: LayerForm) -> str:
    """When reference code computes a form, and for which activations."""
    if not form.plain:
        return "; no reference code"
    plain_types = REFERENCE_TYPES[form.code or name]
    types = "" if plain_types == ("s8",) else f" for {' and '.join(plain_types)}"
    if not form.functions:
        return f"reference code{types}"
    return f"; reference code for {form.apart}" if form.apart else ""


FIXES_HEAD = """
## What a fix acts on

`--fix` acts for findings whose rule runs on the file and is fixable, and that are neither suppressed nor in the
baseline:

"""

FIXES_TAIL = """
Where a fix has to leave more-channels and dead-channels of a large model alone, write the baseline with
`size-checks-limit` and `size-checks-layers` `unlimited`.
"""


def pages() -> dict[Path, str]:
    """Every generated page by its path."""
    docs = ROOT / "docs"
    result = {docs / "rules" / f"{rule.code}.md": rule_page(rule) for rule in every_rule()}
    result[docs / "firmware.md"] = firmware_page()
    result[docs / "fix-report.md"] = report_page()
    result[docs / "runtimes.md"] = runtimes_page()
    result[docs / "cost.md"] = cost_page()
    result[docs / "cycles.md"] = cycles_page()
    result[docs / "silicon.md"] = silicon_page()
    result[docs / "evidence.md"] = evidence_page()
    return {**result, docs / "rules" / "index.md": index_page(), docs / "config.md": config_page()}


def rule_page(rule: Rule) -> str:
    """The page of one rule; `onnxlint-cmsis rule` explains its causes."""
    docs = cleandoc(rule.docs or rule.summary).replace("**What to do.**", "**Do:**")
    keys = ", ".join(f"`{cause.key}`" for cause in rule.causes)
    causes = f"\n`onnxlint-cmsis rule {rule.code}` explains each: {keys}.\n" if keys else ""
    return f"# {rule.code} {rule.name}\n\n{docs}\n{causes}{_repairs(rule)}"


def _repairs(rule: Rule) -> str:
    """Names of what `--fix` rewrites for what a rule reports."""
    reported = {hazard.id for hazard in all_hazards() if hazard.kind in rule.kinds}
    rows = [row for row in REPAIRS if row.hazards & reported or row.rule == rule.name]
    names = ", ".join(row.name if row.exact else f"{row.name} (`--unsafe-fixes`)" for row in rows)
    return f"\n[Repairs](../fix-report.md#which-layers-can-be-rewritten) of `--fix`: {names}.\n" if names else ""


INDEX_HEAD = """# What does it find?

`onnxlint-cmsis rule CODE` explains a rule. Options of ONNX Runtime's quantizer were tried with 1.31.1. Where a rule on
quantization knows a cause, those on runtimes are silent about it.
"""


def index_page() -> str:
    """All rules, by the first digit of their codes."""
    page = INDEX_HEAD
    for digit, title in FAMILIES.items():
        rows = (rule for rule in every_rule() if rule.code.startswith(f"CNN{digit}"))
        page += f"\n## CNN{digit}xx: {title}\n\n" + "".join(
            f"* [{rule.code}]({rule.code}.md) {rule.name} ({rule.level.name.lower()}): {rule.summary}\n"
            for rule in rows
        )
    return page


def config_page() -> str:
    """The page of the configuration."""
    options = (
        key.name if key.option == f"--{key.name}" else f"{key.name} ({key.option})" for key in KEYS if key.option
    )
    head = LIST_HEAD.replace("{options}", ", ".join(f"`{option}`" for option in options))
    keys = "".join(_setting(key) for key in KEYS if not key.option)
    entries = "".join(f"* `{name}`: {doc}\n" for name, doc in SUPPRESSION_KEYS.items())
    accepted = f"\n## How do I accept a finding?\n\nEntries of `suppress` have:\n\n{entries}{METADATA}"
    return f"{CONFIG_HEAD}{EXAMPLE}{head}{keys}{accepted}{_boards()}{_fixes()}"


def _boards() -> str:
    """What is known of boards, each with its page."""
    rows = ""
    for board in KNOWN_BOARDS:
        clock = f"{board.clock // MHZ}" if board.clock else "-"
        cache = f"; {board.code_cache // KIB} KiB of cache for code ({board.cache_source})" if board.code_cache else ""
        sizes = f"{board.ram // KIB:,}, {board.flash // KIB:,}, {clock}"
        rows += f"* [`{board.name}`]({board.source}): {board.cpu}, {sizes}; {board.weights}, {board.arena}{cache}\n"
    head = (
        "CPU, KiB of RAM and flash, and the MHz up to which it runs (- where the page does not say it); memories of "
        "weights\nand arena, and the cache of instructions before the flash where a manual or measurements tell it:"
    )
    return f"\n## Which boards are known?\n\n{head}\n\n{rows}"


def _fixes() -> str:
    """What a fix does for which rules."""
    rows = ""
    for action in ACTIONS:
        codes = ", ".join(f"[{code}](rules/{code}.md)" for code in codes_of(action))
        policies = "" if len(action.policies) == len(POLICIES) else f" (policy {' or '.join(action.policies)})"
        rows += f"* {codes}{policies}: {action.what}\n"
    return f"{FIXES_HEAD}{rows}{FIXES_TAIL}"


def _setting(key: Key) -> str:
    """The first sentence on a setting, the words that it takes, unless they are in it, and its default."""
    what = re.split(r"(?<=\.) ", key.doc)[0]
    words = "" if {*key.allowed} <= {*re.findall(r"[\w-]+", what)} else "/".join(key.allowed)
    default = f"default `{toml(key.default)}`" if key.default not in ("", [], {}) else ""
    said = ", ".join(filter(None, (words, default)))
    return f"* `{key.name}`{f' ({said})' if said else ''}: {what}\n"


def main(argv: list[str]) -> int:
    """Write the pages, or with --check name those that are stale or left over."""
    wanted = pages()
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    extra = [path for path in sorted((ROOT / "docs" / "rules").glob("*.md")) if path not in wanted]
    if argv == ["--check"]:
        for path in [*stale, *extra]:
            print(f"stale: {path.relative_to(ROOT)}; run scripts/make_docs.py")
        return 1 if stale or extra else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8")
    for path in extra:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
