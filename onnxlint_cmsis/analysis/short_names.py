"""Short names for layers: what tells them apart in their model. Converters join whole paths to names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

LONGEST = 24
"""Characters of a name that is short enough as it is, unless it is a path of PyTorch's exporter."""
QUOTED = r"(?<!\w)'([^'\n]+)'(?!\w)"
"""A name in a message; an apostrophe is no quote."""
WIDEST = 56
"""Characters of a name in text; of a longer one without a short form the two ends."""
MOST_PARTS = 5
"""Last parts of a path that a short form has at most."""
_DOTS = "..."
_ENDING = r"(1_prequant|_prequant|_quant|_dequant)?(__\d+)?$"
"""What tf2onnx and quantizers append to a name."""
_TITLE = r"[A-Z][A-Za-z0-9]*"
"""Operator without a number behind it."""


def short_names(layers: Sequence[str], others: Iterable[str] = (), modules: Mapping[str, str] = {}) -> dict[str, str]:
    """Short forms of those names that have one; no two names share one, and none is a name of the model.

    `layers` are all nodes that compute, in file order; `others` are further names, such as those of tensors;
    `modules` are the modules that layers were exported from, as far as the file names them.
    """
    names = list(dict.fromkeys((*layers, *others)))
    first = list(dict.fromkeys(layers))
    owned, endings, taken = _owned(first), _endings(names), {*names}
    short_of: dict[str, str] = {}
    for group in (names, first):  # layers last: their forms depend on no other name
        dotted = {name: _dotted(name) for name in group}
        inner = {module.rpartition(".")[0] for module, _ in dotted.values()}
        wanted = {
            name: modules.get(name) or _path_of(*dotted[name], inner) or owned.get(name, "") or endings.get(name, "")
            for name in group
        }
        used = Counter(wanted.values())
        forms = {
            name: short
            for name, short in wanted.items()
            if short and (len(short) < len(name) or name in modules) and used[short] == 1 and short not in taken
        }
        of_layers = {*forms.values()} if group is first else set()
        short_of = {
            name: short for name, short in short_of.items() if name not in first and short not in of_layers
        } | forms
    cuts = distinct_cuts([short_of.get(name, name) for name in names], WIDEST, taken)
    shown = {name: cuts.get(short_of.get(name, name), short_of.get(name, name)) for name in names}
    return {name: text for name, text in shown.items() if text != name}


def distinct_cuts(texts: Iterable[str], width: int, taken: Iterable[str] = ()) -> dict[str, str]:
    """The texts that are too long without their middle, each different from the others and from those `taken`."""
    every = list(dict.fromkeys(texts))
    used = {*taken, *(text for text in every if len(text) <= width)}
    short: dict[str, str] = {}
    for text in (text for text in every if len(text) > width):
        short[text] = next(cut for cut in _cuts(text, width) if cut not in used)
        used.add(short[text])
    return short


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


def _path_of(module: str, operator: str, inner: set[str]) -> str:
    """`encoder.0.conv`; with the operator where the module holds further modules, or the operator a number."""
    if module and module not in inner and re.fullmatch(_TITLE, operator):
        return module
    return f"{module}.{operator}" if module else operator


def _dotted(name: str) -> tuple[str, str]:
    """Module and operator in a name of PyTorch's exporter: `/encoder/encoder.0/conv/Conv`; both empty elsewhere."""
    if not name.startswith("/"):
        return "", ""
    *parts, operator = re.sub(_ENDING, "", name[1:]).split("/")
    module = ""
    for part in parts:
        module = part if not module or part.startswith(f"{module}.") else f"{module}.{part}"
    return module, operator


def _owned(layers: Sequence[str]) -> dict[str, str]:
    """For each long name the part that it has more often than any other layer: `conv2d_13` of a fused name."""
    counts: dict[str, dict[str, int]] = {}
    for name in layers:
        for part in (re.sub(_ENDING, "", part) for part in re.split("[;/]", name) if part):
            of_part = counts.setdefault(part, {})
            of_part[name] = of_part.get(name, 0) + 1
    best: dict[str, tuple[int, str]] = {}
    for part, of_part in counts.items():
        (owner, most), *rest = sorted(of_part.items(), key=lambda item: -item[1])[:2]
        alone = not rest or rest[0][1] != most
        if alone and len(owner) > LONGEST and of_part[owner] >= best.get(owner, (0, ""))[0]:
            best[owner] = of_part[owner], part
    return {name: part for name, (_, part) in best.items()}


def _endings(names: Sequence[str]) -> dict[str, str]:
    """For each long path its fewest last parts, two or more, that no other name ends in; two where all are shared."""
    paths = {name: name.rsplit(";", maxsplit=1)[-1].split("/") for name in names}
    paths = {name: parts for name, parts in paths.items() if len(name) > LONGEST and len(parts) > 2}
    counts = range(2, MOST_PARTS + 1)
    used = Counter("/".join(parts[-number:]) for parts in paths.values() for number in counts if number < len(parts))
    endings = {}
    for name, parts in paths.items():
        tails = ["/".join(parts[-number:]) for number in counts if number < len(parts)]
        endings[name] = next((tail for tail in tails if used[tail] == 1), tails[0])
    return endings
