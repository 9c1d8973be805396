"""What rewrites models of one format, and repairs applied to the bytes of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.fixers.planning.fits.row import RepairMade
from onnxlint_cmsis.formats.format import Format, part
from onnxlint_cmsis.ground.errors import NotAppliedError
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.lower.lowered import LoweredLayer

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.dimensions import Dimensions
    from onnxlint_cmsis.fixers.planning.plan import Plan
    from onnxlint_cmsis.fixers.planning.repairable import RepairSite
    from onnxlint_cmsis.ground.types import KernelCall
    from onnxlint_cmsis.lower.real_values import Read
    from onnxlint_cmsis.model.graph import Graph


class RepairedBytes(NamedTuple):
    """A model with some of its layers repaired."""

    data: bytes
    """The model; empty where nothing was done."""
    repairs: tuple[tuple[RepairSite, RepairMade], ...]
    """What was done to which layer."""
    refused: tuple[tuple[RepairSite, str], ...]
    """Layers that could not be repaired, with the reason as a clause."""


Applied = Callable[[Any, LoweredLayer], RepairMade]
"""Does a repair to an edit of its format (GraphEdit, TfliteGraphEdit). Raises NotAppliedError."""


class Editor(NamedTuple):
    """What rewrites models of one format, from bytes to bytes; `Format.editor` names it."""

    resized: Callable[[bytes, Graph, Dimensions, Plan], bytes]
    """The model with a plan applied; graph and dimensions are those of the bytes. Raises NotAppliedError."""
    edit: Callable[[bytes, Graph, Callable[[KernelCall], bool], tuple[LoweredLayer, ...], Read], Any]
    """An edit of a model, for repairs; arguments are those of GraphEdit. Raises NotAppliedError."""
    repairs: Mapping[str, Applied]
    """What does each repair, by its name."""
    check_readable: Callable[[bytes, str], None]
    """Raises UnreadableError where a file beside a model, by its bytes and path, cannot be opened; reads nothing."""


def editor_of(form: Format) -> Editor:
    """What rewrites files of a format. Raises NotAppliedError where nothing does."""
    if not form.editor:
        raise NotAppliedError(f"{form.suffix} files are not rewritten")
    editor: Editor = part(form.editor)
    return editor


def repaired_model(
    begin: Callable[[], Any], repairs: Mapping[str, Applied], sites: Sequence[RepairSite]
) -> RepairedBytes:
    """The model with as many of the layers repaired as can be; `begin` makes an edit, to which `repairs` are done."""
    refused: list[tuple[RepairSite, str]] = []
    left = list(sites)
    while True:
        edit, done = begin(), []
        for site in left:
            try:
                done.append((site, repairs[site.row.name](edit, site.record)))
            except NotAppliedError as reason:
                refused.append((site, str(reason)))
                break
        else:
            edit.drop_unread()
            return RepairedBytes(edit.data() if done else b"", tuple(done), tuple(refused))
        left.remove(refused[-1][0])
