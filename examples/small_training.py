"""Trains a small network for images with NumPy alone: 3 x 3 convolutions, pools of 2, one dense layer, no biases.

Arrays are NHWC: images [N, height, width, channels], filters [3, 3, inputs, outputs], dense weights [inputs, classes].
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Labels = NDArray[np.uint8]
BATCH = 50


class Layer(NamedTuple):
    """A convolution with padding 1 and a Relu after it."""

    inputs: int
    """Channels read."""
    outputs: int
    """Channels made."""
    stride: int = 1
    """Pixels from one window to the next."""
    pooled: bool = False
    """Whether a MaxPool of 2 x 2 follows."""


class Network:
    """Layers, an AveragePool of 2 x 2, and a dense layer over what is left."""

    def __init__(self, layers: tuple[Layer, ...], dense: tuple[int, int], random: np.random.Generator) -> None:
        """Random weights; `dense` is inputs and classes."""
        shapes = [(3, 3, layer.inputs, layer.outputs) for layer in layers]
        self.layers = layers
        self.filters = [_drawn(shape, random) for shape in shapes]
        self.dense = _drawn(dense, random)
        self.alive: list[Floats] = [np.ones(layer.outputs, np.float32) for layer in layers]
        """For each layer, 1 for a channel and 0 for a pruned one."""

    def scores(self, images: Floats) -> Floats:
        """Classes' scores [N, classes]."""
        for number in range(len(self.layers)):
            images = self._layer(number, images)[-1]
        return _averages(images).reshape(len(images), -1) @ self.dense

    def accuracy(self, images: Floats, labels: Labels) -> float:
        """Share of images whose largest score is that of their label."""
        right = [self.scores(images[part]).argmax(axis=1) == labels[part] for part in _parts(len(images), 500)]
        return float(np.mean(np.concatenate(right)))

    def prune(self, number: int, count: int) -> None:
        """Remove the `count` output channels with the smallest weights from a layer and its reader."""
        number %= len(self.layers)
        outputs = self.layers[number].outputs
        sizes = np.abs(self.filters[number]).sum(axis=(0, 1, 2))
        self.alive[number][np.argsort(sizes)[:count]] = 0
        self.filters[number] *= self.alive[number]
        reader = [*self.filters, self.dense][number + 1]
        reader.reshape(-1, outputs, reader.shape[-1])[:] *= self.alive[number][:, None]

    def gradients(self, images: Floats, labels: Labels) -> list[Floats]:
        """Gradients of the mean cross-entropy by each layer's filters and by the dense weights."""
        seen = []
        for number in range(len(self.layers)):
            seen.append(self._layer(number, images))
            images = seen[-1][-1]
        flat = _averages(images).reshape(len(images), -1)
        error = _softmax(flat @ self.dense)
        error[np.arange(len(labels)), labels] -= 1
        error /= np.float32(len(labels))
        found = [flat.T @ error]
        back = _doubled((error @ self.dense.T).reshape(_averages(images).shape)) / np.float32(4)
        for number in reversed(range(len(self.layers))):
            by_filters, back = self._backward(number, seen[number], back)
            found.insert(0, by_filters)
        return found

    def _layer(self, number: int, images: Floats) -> tuple[Floats, Floats, Floats]:
        """Windows read, sums after Relu, and pooled sums."""
        layer, filters = self.layers[number], self.filters[number]
        windows = _windows(images, layer.stride)
        made = np.maximum(windows @ filters.reshape(-1, layer.outputs), 0)
        return windows, made, _largest(made) if layer.pooled else made

    def _backward(self, number: int, seen: tuple[Floats, Floats, Floats], back: Floats) -> tuple[Floats, Floats]:
        """Gradients by a layer's filters and by its input (None for the first layer)."""
        windows, made, pooled = seen
        layer, filters = self.layers[number], self.filters[number]
        if layer.pooled:
            back = _doubled(back) * (made == _doubled(pooled))
        back = back * (made > 0)
        by_filters = windows.reshape(-1, windows.shape[-1]).T @ back.reshape(-1, layer.outputs)
        by_filters = by_filters.reshape(filters.shape) * self.alive[number]
        if number == 0:
            return by_filters, back
        turned = filters[::-1, ::-1].transpose(0, 1, 3, 2).reshape(-1, layer.inputs)
        return by_filters, _windows(back, 1) @ turned  # right for stride 1, which all but the first layer have


class _Adam:
    """Adam's state of one array of weights: means of its gradient and of the gradient's square."""

    def __init__(self, weights: Floats) -> None:
        self._weights = weights
        self._mean, self._square = np.zeros_like(weights), np.zeros_like(weights)

    def move(self, by: Floats, rate: float, step: int) -> None:
        """Move the weights, in place; `step` counts from 1."""
        self._mean += np.float32(0.1) * (by - self._mean)
        self._square += np.float32(0.001) * (by * by - self._square)
        mean = self._mean / np.float32(1 - 0.9**step)
        square = self._square / np.float32(1 - 0.999**step)
        self._weights -= np.float32(rate) * mean / (np.sqrt(square) + np.float32(1e-8))


def train(network: Network, batches: Iterator[tuple[Floats, Labels]], steps: int, rate: float = 2e-3) -> None:
    """Train with Adam over `steps` batches; the rate falls to 0 along a cosine."""
    adams = [_Adam(weights) for weights in (*network.filters, network.dense)]
    for step in range(1, steps + 1):
        now = rate * 0.5 * (1 + np.cos(np.pi * step / steps))
        for adam, by in zip(adams, network.gradients(*next(batches)), strict=True):
            adam.move(by, now, step)


def shifted_batches(images: Floats, labels: Labels, random: np.random.Generator) -> Iterator[tuple[Floats, Labels]]:
    """Random batches without end, every image moved by up to 2 pixels."""
    while True:
        order = random.permutation(len(images))
        for part in _parts(len(images) - len(images) % BATCH, BATCH):
            chosen = images[order[part]]
            moves = random.integers(-2, 3, (len(chosen), 2))
            moved = [np.roll(each, tuple(move), (0, 1)) for each, move in zip(chosen, moves, strict=True)]
            yield np.stack(moved), labels[order[part]]


def _drawn(shape: tuple[int, ...], random: np.random.Generator) -> Floats:
    return np.asarray(random.normal(0, np.sqrt(2 / np.prod(shape[:-1])), shape), np.float32)


def _parts(count: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, count, size))


def _windows(images: Floats, stride: int) -> Floats:
    """Each 3 x 3 window of images with a rim of zeros: [N, rows, columns, 9 x channels]."""
    rimmed = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    found = sliding_window_view(rimmed, (3, 3), (1, 2))[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)
    return np.asarray(found.reshape(*found.shape[:3], -1))


def _squares(images: Floats) -> Floats:
    """Windows of 2 x 2: [N, rows, 2, columns, 2, channels]."""
    count, rows, columns, channels = images.shape
    return images.reshape(count, rows // 2, 2, columns // 2, 2, channels)


def _largest(images: Floats) -> Floats:
    return np.asarray(_squares(images).max(axis=(2, 4)))


def _averages(images: Floats) -> Floats:
    return np.asarray(_squares(images).mean(axis=(2, 4)))


def _doubled(images: Floats) -> Floats:
    """Every pixel four times, as a square."""
    return images.repeat(2, axis=1).repeat(2, axis=2)


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))
