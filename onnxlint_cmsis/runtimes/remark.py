"""Remarks on a runtime and some layers of a model, before a rule makes findings of them."""

from __future__ import annotations

from onnxlint_cmsis.ground.findings import Effect, Location
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.ground.words import and_more, quoted
from onnxlint_cmsis.lower.decision import Cause
from onnxlint_cmsis.lower.outcome import Outcome

FIXED_BATCH = (
    "Convert with a fixed batch: keras.Input(shape, batch_size=1) and TFLiteConverter.from_keras_model (model.export "
    "leaves it open)."
)
"""What to do about sizes that a converter left open: done with TensorFlow 2.21 and Keras 3."""

PER_TENSOR = (
    "Quantize dense layers per tensor (TensorFlow: "
    "converter._experimental_disable_per_channel_quantization_for_dense_layers = True)"
)
"""What to do about scales of each output that no kernel takes: done with TensorFlow 2.21."""
REPEATED = "Nothing: reference code repeats the smaller operand."
"""What to do about operands of different shapes that are both computed."""


class RuntimeRemark(NamedTuple):
    """One reason for which a runtime does something with layers."""

    cause: str
    """Why, a key of the causes of a rule."""
    verdict: Outcome
    """What becomes of the layers; it decides on the rule."""
    message: str
    """What is said."""
    location: Location
    """First of the layers."""
    nodes: tuple[str, ...]
    """Labels of all of them."""
    targets: tuple[str, ...] = ()
    """Labels of the targets it holds for; empty where it does not depend on a target."""
    level: Level | None = None
    """A milder level than the rule's."""
    source: str = ""
    """File and line of the runtime that decides it, and its commit."""
    causes: tuple[Cause, ...] = ()
    """Causes for which CMSIS-NN refuses the layers too: the rule that claims them tells of both."""
    converter: bool = False
    """Whether what a converter makes of an ONNX model decides."""
    sure: bool = True
    """Whether the layers are known to meet it, in a runtime that was run."""
    do: str = ""
    """What to do, where that depends on the target; empty where the cause's words hold for all."""

    @property
    def effect(self) -> Effect:
        """What it does to whoever runs the model."""
        return self.verdict.effect(sure=self.sure)

    @property
    def kind(self) -> str:
        """What its rule claims."""
        return kind_of(self.verdict, self.cause)


def kind_of(verdict: Outcome, cause: str) -> str:
    """What a rule claims: the verdict, or the cause where the verdict alone says nothing."""
    return verdict.value if verdict in USUAL_CAUSES else cause


def named(labels: tuple[str, ...]) -> str:
    """`'a', 'b' and 3 more`."""
    return and_more(quoted(labels), 2)


USUAL_CAUSES = {
    Outcome.REFUSED: "check",
    Outcome.NO_KERNEL: "operator",
    Outcome.HALTS: "check",
    Outcome.WRONG: "kernel",
    Outcome.REFERENCE: "no-function",
}
"""Verdicts that a rule reports, and the cause where no row names another."""


NOT_REVIEWED = "not-reviewed"
"""Cause of what a runtime does with a layer that nobody read."""
