"""A process that runs one `.tflite` model in LiteRT, so that a crash there takes nothing else along.

It reads pickled requests from its standard input and writes pickled answers: first the model, then inputs and the
tensors to fetch. Whatever LiteRT itself prints goes nowhere.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from onnxlint_cmsis.named_tuples import NamedTuple


class LoadedTensor(NamedTuple):
    """One tensor of the main subgraph, once memory is laid out for it."""

    shape: tuple[int, ...]
    """Sizes that the kernels worked out."""
    dtype: str
    """numpy's name of the type; `object` for text."""


def serve() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    requests = sys.stdin.buffer
    model = _Model()
    steps: Iterator[Callable[..., object]] = itertools.chain([model.load], itertools.repeat(model.run))
    with contextlib.suppress(EOFError):
        for step in steps:
            _answer(answers, step, pickle.load(requests))


def _answer(answers: BinaryIO, step: Callable[..., object], request: tuple[Any, ...]) -> None:
    """Do what is asked for and send what it returns, or the error as text."""
    try:
        answer = (True, step(*request))
    except Exception as error:  # LiteRT raises RuntimeError and ValueError, numpy others
        answer = (False, " ".join(str(error).split()) or type(error).__name__)
    pickle.dump(answer, answers)
    answers.flush()


class _Model:
    """A model with its tensors laid out: reference kernels, nothing shared between tensors."""

    def load(self, data: bytes, repeats: int) -> dict[int, LoadedTensor]:
        """Take a model; each input will be run so many times. Returns its tensors by index."""
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        self._repeats = repeats
        self._interpreter = Interpreter(
            model_content=data,
            num_threads=1,
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=True,
        )
        self._interpreter.allocate_tensors()
        details = self._interpreter.get_tensor_details()
        return {one["index"]: LoadedTensor(tuple(map(int, one["shape"])), one["dtype"].__name__) for one in details}

    def run(self, feed: dict[int, Any], wanted: tuple[int, ...]) -> list[Any]:
        """Values of tensors on one input, from the model's first state; None for one without memory."""
        self._interpreter.reset_all_variables()
        for _ in range(self._repeats):
            for index, value in feed.items():
                self._interpreter.set_tensor(index, value)
            self._interpreter.invoke()
        return [self._value(index) for index in wanted]

    def _value(self, index: int) -> Any:
        try:
            return self._interpreter.get_tensor(index)
        except ValueError:
            return None


if __name__ == "__main__":
    serve()
