"""The page of what JSON and SARIF tell of a fix, from the one-line docs of the result's fields."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from onnxlint_cmsis.analysis.certificate.facts import Certificate, CertifiedTensor, LaneSums
from onnxlint_cmsis.analysis.fix_results import (
    ClassChange,
    FixResult,
    LayerChange,
    Locked,
    MemoryChange,
    ModelPrice,
    Numbers,
    PriceChange,
    Repair,
    Rewrite,
    SkippedClass,
    SkippedRewrite,
    TargetTotal,
    TensorChange,
)
from onnxlint_cmsis.analysis.proof_results import Difference, IfBranch, Proof, ValueChange
from onnxlint_cmsis.checks.rule_registry import every_rule
from onnxlint_cmsis.cmsis_nn.library import all_hazards
from onnxlint_cmsis.fixers.planning.fits.row import RepairRow
from onnxlint_cmsis.fixers.planning.repairable import REPAIRS

HEAD = """# What does a report tell of a fix?

With `--fix`, `--fix-only` and `--diff` each file has an object `fix`: in `files` of JSON, and in the `properties` of
its artifact in SARIF. It is `null` or absent where no fix was asked for or the file is no model. Lists with an entry
for each target have the order of `totals`. Instructions are predicted. An infinite number is a text.
"""

OBJECTS: tuple[tuple[str, type], ...] = (
    ("fix", FixResult),
    ("classes[]", ClassChange),
    ("tensors[]", TensorChange),
    ("layers[]", LayerChange),
    ("totals[]", TargetTotal),
    ("prices[]", PriceChange),
    ("before and after", ModelPrice),
    ("repairs[]", Repair),
    ("rewrites[]", Rewrite),
    ("unrewritten[]", SkippedRewrite),
    ("locked[]", Locked),
    ("memory[]", MemoryChange),
    ("left[]", SkippedClass),
    ("macs and bytes", Numbers),
    ("changes[]", ValueChange),
    ("proof", Proof),
    ("proof.differences[]", Difference),
    ("proof.unreached[]", IfBranch),
    ("certificate", Certificate),
    ("certificate.tensors[]", CertifiedTensor),
    ("sums and gone_sums", LaneSums),
)
"""Objects of the report and what they are made from, in the order of the page."""
HELD = {name.rpartition(".")[2]: made_from for title, made_from in OBJECTS for name in title.split(" and ")}
"""What a field holds by its name, with `[]` behind that of a list."""
PLAIN = 6
"""Most words in the docs of an object's fields where their names are enough."""


def report_page() -> str:
    """The page as Markdown."""
    sections = (_section(title, made_from) for title, made_from in OBJECTS if not _plain(made_from))
    return HEAD + "".join(sections) + repairs_section(REPAIRS)


def _plain(made_from: type[Any]) -> bool:
    return all(len(doc.split()) <= PLAIN for _, doc in field_docs(made_from))


REPAIRS_HEAD = """
## Which layers can be rewritten?

A repair changes nodes only where a target meets the hazard, and is proven like every fix. Where channel counts help
too, the model with fewer predicted instructions is taken.

With `--unsafe-fixes` no output of the model, and no result of the layer, may change by more than one step of its
quantization, the larger of before and after, with ONNX Runtime's optimisers off. signed-integers is proven so too, as
they fuse other nodes for int8 than for uint8: where an output differs with them, on 200 more inputs, it needs
`--unsafe-fixes`, and the proof says by how much.

"""


def repairs_section(repairs: Iterable[RepairRow]) -> str:
    """The list of repairs, each with its rules and its cost."""
    kinds = {hazard.id: hazard.kind for hazard in all_hazards()}
    rows = ""
    for row in repairs:
        reported = {kinds[name] for name in row.hazards}
        codes = [rule.code for rule in every_rule() if rule.name == row.rule or reported & {*rule.kinds}]
        cost = f"costs {row.price}" if row.exact else "needs `--unsafe-fixes`"
        rows += f"* **{row.name}** ({', '.join(codes)}) {row.what}; {cost}\n"
    return REPAIRS_HEAD + rows


def _section(title: str, made_from: type[Any]) -> str:
    """An object with its fields. What holds before and after the fix is one line; lists of `fix` have sections."""
    lists = dict(field_docs(FixResult))
    rows = f"{lists[title[:-2]]}\n\n" if title[:-2] in lists else ""
    fields = dict(field_docs(made_from))
    for name, doc in fields.items():
        later = "after" if name == "before" else "new_" + name.removeprefix("old_")
        held = HELD.get(f"{name}[]") or HELD.get(name)
        if later in fields:
            rows += f"* `{name}`, `{later}`: {doc.replace('before', 'before and after', 1)}\n"
        elif held and _plain(held):
            rows += f"* `{name}` ({', '.join(dict(field_docs(held)))}): {doc}\n"
        elif name != "after" and not name.startswith("new_") and not (title == "fix" and f"{name}[]" in HELD):
            rows += f"* `{name}`: {doc}\n"
    return f"\n## {title}\n\n{rows}"


def field_docs(made_from: type[Any]) -> Iterator[tuple[str, str]]:
    """(name, doc) of each field of a named tuple: the string behind it in the source."""
    (definition,) = ast.parse(inspect.getsource(made_from)).body
    assert isinstance(definition, ast.ClassDef)
    for field, doc in pairwise(definition.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(doc, ast.Expr):
            yield field.target.id, " ".join(str(ast.literal_eval(doc.value)).split())
