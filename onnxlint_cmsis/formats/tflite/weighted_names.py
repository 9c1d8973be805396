"""TensorFlow Lite's layers with weights."""

from onnxlint_cmsis.formats.tflite.name_rows import NOT_FOLLOWED, named_row
from onnxlint_cmsis.model.roles import Form, Roles, Stated, Sums
from onnxlint_cmsis.operators.product import fully_connected

NOWHERE = Stated()
"""The shapes of the tensors tell."""


IMAGE = Roles(
    weights=(1,), form=Form.CHANNELS_LAST, sums=Sums.STORED, bias=2, channels_last=True, numbers={"group": NOWHERE}
)
"""Data, weights and bias (tensorflow/lite/kernels/conv.cc, depthwise_conv.cc)."""


TRANSPOSED = IMAGE._replace(
    data=(2,), form=Form.TRANSPOSED_LAST, bias=3, numbers={"group": NOWHERE, "result": Stated(input=0)}
)
"""Shape of the result, weights, data and bias (tensorflow/lite/kernels/transpose_conv.cc)."""


ROWS = Roles(weights=(1,), form=Form.ROWS, sums=Sums.STORED, bias=2)
"""Data, weights and bias (tensorflow/lite/kernels/fully_connected.cc)."""


FACTORS = Roles(data=(0, 1), numbers={"transA": Stated("adj_x"), "transB": Stated("adj_y")})
"""Two factors, whose numbers are not followed (tensorflow/lite/kernels/batch_matmul.cc)."""


LAYERS = (
    named_row("CONV_2D", "Conv", roles=IMAGE),
    named_row("DEPTHWISE_CONV_2D", "Conv", roles=IMAGE._replace(form=Form.DEPTHWISE_LAST)),
    named_row("TRANSPOSE_CONV", "ConvTranspose", roles=TRANSPOSED),
    named_row("FULLY_CONNECTED", "MatMul", axes=fully_connected, roles=ROWS),
    named_row("BATCH_MATMUL", "MatMul", roles=FACTORS, **NOT_FOLLOWED),
)
