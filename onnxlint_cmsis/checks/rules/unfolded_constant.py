"""ONNX Runtime's quantizer does not fold a constant into the weights.

A normalization, or a constant that is added or multiplied behind a Gemm, MatMul or Conv, costs nothing in the weights
and bias. ONNX Runtime's quantizer and its pre-processing leave some of them: all behind a Gemm (also a MatMul with a
bias), Mul and Div behind a MatMul, Sub and Div behind a Conv. Each becomes a layer of its own, without a kernel or in
reference code.

**What to do.** Fold it into the weights before the model is quantized. In PyTorch,
`torch.nn.utils.fusion.fuse_linear_bn_eval` does it for Linear and BatchNorm1d.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.fix_actions import REWRITE
from onnxlint_cmsis.checks.quantization_checks import described
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.checks.subjects import ModelSubject
from onnxlint_cmsis.cmsis_nn.apis import FLOAT, LEGACY
from onnxlint_cmsis.formats.names import canonical
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.lower.unfolded import NORMALIZATION, unfolded
from onnxlint_cmsis.model.node_location import node_location

_MODEL = """
g (float[1, 8] x) => (float[1, 4] y) <float[8, 4] w = {1}, float[4] b = {1}, float[4] k = {2}> {
    BODY
}
"""

RULE = Rule(
    code="CNN518",
    name="unfolded-constant",
    level=Level.WARNING,
    effect=Effect.REFERENCE,
    summary="ONNX Runtime's quantizer does not fold a constant into the weights.",
    docs=__doc__,
    action=REWRITE,
    bad=Example(_MODEL.replace("BODY", "c = Gemm(x, w, b)\n    y = Mul(c, k)")),
    good=Example(_MODEL.replace("BODY", "y = Gemm(x, w, b)")),
)
FOLD = "Fold it into the weights before the model is quantized."
FUSE = (
    "Fold it into the weights before the model is quantized: in PyTorch by torch.nn.utils.fusion.fuse_linear_bn_eval."
)


def run(subject: ModelSubject) -> Iterator[Statement]:
    """Yield one statement for each node, where the application calls CMSIS-NN: other runtimes' converters fold."""
    model = subject.model
    if model.execution.by_runtime or model.settings.assume in (*LEGACY.types, *FLOAT.types):
        return
    for layer, _, node in unfolded(model.graph):
        normalizes = canonical(node) == NORMALIZATION
        then = "no kernel computes it then" if normalizes else "it becomes a layer of its own then"
        text = f"{described(node)}: ONNX Runtime's quantizer leaves it behind {described(layer)}; {then}."
        remedy = FUSE if normalizes else FOLD
        yield Statement(text, node_location(model.graph.path, node), group=then, remedy=remedy)
