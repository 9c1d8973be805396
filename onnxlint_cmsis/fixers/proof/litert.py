"""What runs in the process of a `.tflite` model. It imports little, as each of these processes imports it."""

from __future__ import annotations

from typing import Any

from onnxlint_cmsis.ground.named_tuples import NamedTuple


class LoadedTensor(NamedTuple):
    """One tensor of the main subgraph, once memory is laid out for it."""

    shape: tuple[int, ...]
    """Sizes that the kernels worked out."""
    dtype: str
    """numpy's name of the type; `object` for text."""


class LiteRtModel:
    """A model with its tensors laid out: reference kernels, nothing shared between tensors."""

    def load(self, data: bytes, repeats: int) -> dict[int, LoadedTensor]:
        """Take a model; each input will be run so many times. Returns the tensors that LiteRT describes, by index.

        Raises ValueError where it does not describe an input or an output.
        """
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        self._repeats = repeats
        self._interpreter = Interpreter(
            model_content=data,
            num_threads=1,
            experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            experimental_preserve_all_tensors=True,
        )
        self._interpreter.allocate_tensors()
        self._interpreter.get_input_details()  # raises where one has a name that is not UTF-8: all details leave it out
        self._interpreter.get_output_details()
        return {
            tensor["index"]: LoadedTensor(tuple(map(int, tensor["shape"])), tensor["dtype"].__name__)
            for tensor in self._interpreter.get_tensor_details()
        }

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
