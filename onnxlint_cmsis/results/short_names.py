"""Short names for layers: what tells them apart in their model. Converters join whole paths to names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

LONGEST = 24
"""Characters of a name that is short enough as it is, unless it is a path of PyTorch's exporter."""
QUOTED = re.compile(r"(?<!\w)'([^'\n]+)'(?!\w)")
"""A name in a message; an apostrophe is no quote."""
WIDEST = 56
"""Characters of a name in text; of a longer one without a short form the two ends."""
_DOTS = "..."
_ENDING = re.compile(r"(1_prequant|_prequant|_quant|_dequant)?(__\d+)?$")
"""What tf2onnx and quantizers append to a name."""
_TITLE = re.compile(r"[A-Z][A-Za-z0-9]*")
"""Operator without a number behind it."""


def short_names(layers: Sequence[str], others: Iterable[str] = (), modules: Mapping[str, str] = {}) -> dict[str, str]:
    """Short forms of those names that have one; no two names share one, and none is a name of the model.

    `layers` are all nodes that compute, in file order; `others` are further names, such as those of tensors;
    `modules` are the modules that layers were exported from, as far as the file names them.
    """
    names = list(dict.fromkeys((*layers, *others)))
    first = list(dict.fromkeys(layers))
    owned, taken = _owned(first), {*names}
    found: dict[str, str] = {}
    for group in (names, first):  # layers last: their forms depend on no other name
        dotted = {name: _dotted(name) for name in group}
        inner = {module.rpartition(".")[0] for module, _ in dotted.values()}
        wanted = {
            name: modules.get(name) or _joined(*dotted[name], inner) or owned.get(name, "") or _last(name)
            for name in group
        }
        used = Counter(wanted.values())
        forms = {
            name: short
            for name, short in wanted.items()
            if short and (len(short) < len(name) or name in modules) and used[short] == 1 and short not in taken
        }
        of_layers = {*forms.values()} if group is first else set()
        found = {name: short for name, short in found.items() if name not in first and short not in of_layers} | forms
    cuts = distinct_cuts([found.get(name, name) for name in names], WIDEST, taken)
    shown = {name: cuts.get(found.get(name, name), found.get(name, name)) for name in names}
    return {name: text for name, text in shown.items() if text != name}


def distinct_cuts(texts: Iterable[str], width: int, taken: Iterable[str] = ()) -> dict[str, str]:
    """The texts that are too long without their middle, each different from the others and from those `taken`."""
    every = list(dict.fromkeys(texts))
    used = {*taken, *(text for text in every if len(text) <= width)}
    found: dict[str, str] = {}
    for text in (text for text in every if len(text) > width):
        found[text] = next(cut for cut in _cuts(text, width) if cut not in used)
        used.add(found[text])
    return found


def cut(text: str, width: int) -> str:
    """The text without its middle where it is too long."""
    return text if len(text) <= width else next(_cuts(text, width))


def _cuts(text: str, width: int) -> Iterator[str]:
    """Ways to shorten a text: its two ends, then with a number in place of the start of the second."""
    room = max(width - len(_DOTS), 2)
    for end in dict.fromkeys((2 * room // 3, room // 3, room - 1)):
        yield f"{text[: room - end]}{_DOTS}{text[len(text) - end :]}"[:width]
    for number in count(2):
        tag = f"~{number}"
        yield f"{text[: max(width - len(tag), 0)]}{tag}"


def _joined(module: str, operator: str, inner: set[str]) -> str:
    """`encoder.0.conv`; with the operator where the module holds further modules, or the operator a number."""
    if module and module not in inner and _TITLE.fullmatch(operator):
        return module
    return f"{module}.{operator}" if module else operator


def _dotted(name: str) -> tuple[str, str]:
    """Module and operator in a name of PyTorch's exporter: `/encoder/encoder.0/conv/Conv`; both empty elsewhere."""
    if not name.startswith("/"):
        return "", ""
    *parts, operator = _ENDING.sub("", name[1:]).split("/")
    found = ""
    for part in parts:
        found = part if not found or part.startswith(f"{found}.") else f"{found}.{part}"
    return found, operator


def _owned(layers: Sequence[str]) -> dict[str, str]:
    """For each long name the part that it has more often than any other layer: `conv2d_13` of a fused name."""
    counts: dict[str, dict[str, int]] = {}
    for name in layers:
        for part in _parts(name):
            of_part = counts.setdefault(part, {})
            of_part[name] = of_part.get(name, 0) + 1
    best: dict[str, tuple[int, str]] = {}
    for part, of_part in counts.items():
        owner = _most(of_part)
        if owner and len(owner) > LONGEST and of_part[owner] >= best.get(owner, (0, ""))[0]:
            best[owner] = of_part[owner], part
    return {name: part for name, (_, part) in best.items()}


def _most(counts: dict[str, int]) -> str:
    """The name with the largest count; empty where two have it."""
    (first, number), *rest = sorted(counts.items(), key=lambda each: -each[1])[:2]
    return "" if rest and rest[0][1] == number else first


def _parts(name: str) -> list[str]:
    return [_ENDING.sub("", part) for path in name.split(";") for part in path.split("/") if part]


def _last(name: str) -> str:
    """The last two parts of a long path."""
    parts = name.rsplit(";", maxsplit=1)[-1].split("/")
    return "/".join(parts[-2:]) if len(name) > LONGEST and len(parts) > 2 else ""
