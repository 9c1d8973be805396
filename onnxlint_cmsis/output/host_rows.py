"""What the layers may be off in runtimes of a desktop: a row for each that may be, the reasons, the outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.named_tuples import NamedTuple

if TYPE_CHECKING:
    from onnxlint_cmsis.runtimes.host.bounds import Bound
    from onnxlint_cmsis.runtimes.host.comparison import HostComparison


HOSTS = "Against the desktop, on equal inputs"


class HostTable(NamedTuple):
    """Layers that may be off, and the others in a sentence."""

    hosts: tuple[str, ...]
    """Names of the hosts."""
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    """Label of a layer that may be off in a host, and a cell for each host."""
    equal: str
    """How many are equal; empty where none is."""
    reasons: tuple[tuple[str, tuple[str, ...], str], ...]
    """Host, labels of layers, and what the host does with them."""
    outputs: tuple[tuple[str, str, str], ...]
    """Output, host, and by how many steps they may be apart."""


def host_table(hosts: tuple[HostComparison, ...]) -> HostTable:
    """A comparison with one host or more, in words."""
    layers = [*zip(*(comparison.layers for comparison in hosts), strict=True)]
    off = [differences for differences in layers if not all(layer.equal for layer in differences)]
    equal = len(layers) - len(off)
    which = f"{'the other' if off else 'all'} {equal} {'layer' if equal == 1 else 'layers'}: equal, bit for bit"
    reasons: dict[tuple[str, str], list[str]] = {}
    for comparison in hosts:
        for layer in comparison.layers:
            if not layer.equal:
                reasons.setdefault((comparison.host.key, layer.why), []).append(layer.node.label)
    return HostTable(
        tuple(comparison.host.key for comparison in hosts),
        tuple((differences[0].node.label, tuple(_off_by(layer.bound) for layer in differences)) for differences in off),
        which if equal else "",
        tuple((host, tuple(labels), why) for (host, why), labels in reasons.items()),
        tuple(
            (name, comparison.host.key, _steps(steps) if steps is not None else _added_up(comparison))
            for comparison in hosts
            for name, steps in comparison.outputs
        ),
    )


def _added_up(comparison: HostComparison) -> str:
    """Why an output has no bound."""
    layers = sum(not layer.equal for layer in comparison.layers)
    return f"no bound, as the differences of {layers} layers add up" if layers > 1 else _steps(None)


def _off_by(bound: Bound) -> str:
    """`1 step, up to 0.4 %`, `equal` or `not bounded`."""
    share = f", up to {100 * bound.share:.2g} %" if bound.steps and bound.share else ""
    return f"{_steps(bound.steps)}{share}"


def _steps(steps: int | None) -> str:
    if steps is None:
        return "not bounded"
    return f"{steps} {'step' if steps == 1 else 'steps'}" if steps else "equal"
