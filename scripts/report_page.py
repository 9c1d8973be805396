"""The page of what JSON and SARIF tell of a fix, from the one-line docs of the result's fields."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from onnxlint_cmsis.analysis.fix_results import (
    Certificate,
    CertifiedTensor,
    ClassChange,
    Difference,
    FixResult,
    IfBranch,
    LaneSums,
    LayerChange,
    Locked,
    Numbers,
    Proof,
    Repair,
    Rewrite,
    SkippedClass,
    SkippedRewrite,
    TargetTotal,
    TensorChange,
    ValueChange,
)
from onnxlint_cmsis.fixers.planning.repairable import REPAIRS, RepairRow

HEAD = """# What does a report tell of a fix?

With `--fix`, `--fix-only` and `--diff` each file has an object `fix`: in `files` of JSON, and in the `properties` of
its artifact in SARIF. It is `null` or absent where no fix was asked for or the file is no model. Lists with an entry
for each target have the order of `totals`. Instructions are predicted, and are not cycles. An infinite number is a
text. `classes[]` is an element of the list `classes`.
"""

OBJECTS: tuple[tuple[str, type], ...] = (
    ("fix", FixResult),
    ("classes[]", ClassChange),
    ("tensors[]", TensorChange),
    ("layers[]", LayerChange),
    ("totals[]", TargetTotal),
    ("repairs[]", Repair),
    ("rewrites[]", Rewrite),
    ("unrewritten[]", SkippedRewrite),
    ("locked[]", Locked),
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


def report_page() -> str:
    """The page as Markdown."""
    return HEAD + "".join(_section(title, made_from) for title, made_from in OBJECTS) + repairs_section(REPAIRS)


REPAIRS_HEAD = """
## Which layers can be rewritten?

A repair changes nodes only where a target meets the hazard, and computes the same, proven like every fix. Where channel
counts help too, the model with fewer predicted instructions is taken. A Pad behind an input of the model
(`--unsafe-fixes`) is added only for what no repair answers.

Repairs with `--unsafe-fixes` are not exact: no output of the model, and no result of the layer, may change by more
than one step of its quantization, the larger of before and after, with ONNX Runtime's optimisers off. signed-integers
is proven with these off too. With its default optimisers ONNX Runtime fuses other nodes for int8 than for uint8: where
an output then differs on 200 more inputs, the repair needs `--unsafe-fixes`, and the proof says by how much.

"""


def repairs_section(repairs: Iterable[RepairRow]) -> str:
    """The table of repairs."""
    return REPAIRS_HEAD + "".join(_repair(row) for row in repairs)


def _repair(row: RepairRow) -> str:
    hazards = ", ".join(f"`{name}`" for name in sorted(row.hazards)) or f"rule {row.rule}"
    name = row.name if row.exact else f"{row.name} (`--unsafe-fixes`)"
    return f"* **{name}** {row.what}: {hazards}. Cost: {row.price}\n"


def _section(title: str, made_from: type[Any]) -> str:
    """An object with its fields; what holds before and after the fix is one line."""
    fields = dict(field_docs(made_from))
    rows = ""
    for name, doc in fields.items():
        later = "after" if name == "before" else "new_" + name.removeprefix("old_")
        if later in fields:
            rows += f"* `{name}`, `{later}`: {doc.replace('before', 'before and after', 1)}\n"
        elif name != "after" and not name.startswith("new_"):
            rows += f"* `{name}`: {doc}\n"
    return f"\n## {title}\n\n{rows}"


def field_docs(made_from: type[Any]) -> Iterator[tuple[str, str]]:
    """(name, doc) of each field of a named tuple: the string behind it in the source."""
    (definition,) = ast.parse(inspect.getsource(made_from)).body
    assert isinstance(definition, ast.ClassDef)
    for field, doc in pairwise(definition.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(doc, ast.Expr):
            yield field.target.id, " ".join(str(ast.literal_eval(doc.value)).split())
