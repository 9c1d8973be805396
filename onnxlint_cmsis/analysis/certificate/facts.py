"""What a certificate states: why two files are equal for every input. docs/verify.md has the theorem."""

from __future__ import annotations

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class LaneSums(NamedTuple):
    """Sums that lanes are rounded from, a number for each lane."""

    bias: tuple[float, ...]
    """Bias with the shares of constant lanes."""
    low: tuple[int, ...]
    """No input makes the sum less."""
    high: tuple[int, ...]
    """No input makes the sum more."""
    multiplier: tuple[int, ...]
    """Multiplier of 31 bits."""
    shift: tuple[int, ...]
    """The factor is multiplier * 2**(shift - 31)."""
    zero_point: tuple[int, ...]
    """Zero-point; of uint8 128 less."""
    least: tuple[int, ...]
    """Least integer behind the activation."""
    most: tuple[int, ...]
    """Greatest one."""
    border: tuple[bool, ...]
    """Whether padding takes shares of constant lanes off at the border; the bias lacks these."""


class CertifiedTensor(NamedTuple):
    """A tensor of both files whose lanes, or the constants it is computed with, are others."""

    tensor: str
    """Name."""
    node: str
    """New node that makes it."""
    axis: int
    """Axis of the lanes."""
    before: int
    """Lanes before."""
    after: int
    """Lanes after."""
    lanes: tuple[int | None, ...]
    """For each new lane the old one that holds the same on every input; null where there is none."""
    gone: tuple[int, ...]
    """Old lanes that are no more."""
    constants: tuple[int | None, ...]
    """Integer that each of these holds on every input; null where nothing that counts reads it."""
    sums: LaneSums | None
    """Sums behind the new lanes, equal to the old ones; null where they are no sums."""
    gone_sums: LaneSums | None
    """Sums behind the lanes that are gone; both bounds round to the constant."""


class Certificate(NamedTuple):
    """The facts by which two files are equal for every input."""

    old: str
    """SHA-256 of the old file."""
    new: str
    """SHA-256 of the new file."""
    tensors: tuple[CertifiedTensor, ...]
    """Tensors that changed, in the order of the nodes."""
