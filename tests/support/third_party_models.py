"""The third-party models beside the project, made ready to run."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from support import paths

SHARED = paths.SHARED / "models"
needs_models = pytest.mark.skipif(not SHARED.exists(), reason="the folder of third-party models is not there")
# Why a model cannot be run before and after: it does not run in ONNX Runtime at all, its layers are in a subgraph.
NOT_RUN = {
    "deeploy_mlperf_ic_requant.onnx": "operator RequantShift",
    "deeploy_waveformer_1d.onnx": "operators of domain PACTOps",
    "person_detect_int8_tflm.onnx": "a DequantizeLinear with an axis outside the rank",
    "silero_vad_16k_op15.onnx": "layers inside If",
}
INPUT_SHAPES = {"ppocrv4_det.onnx": [1, 3, 64, 64], "yunet_n_dynamic.onnx": [1, 3, 64, 64]}


def model_names() -> list[str]:
    return sorted(path.name for path in SHARED.glob("*.onnx")) if SHARED.exists() else []


def runnable(name: str) -> onnx.ModelProto:
    """The model without what stands in the way of a good look: replaceable constants, and weights all alike."""
    model = onnx.load(str(SHARED / name))
    random = np.random.default_rng(0)
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in [
        candidate
        for candidate in model.graph.node
        if candidate.op_type == "ConstantOfShape" and candidate.input[0] in shapes
    ]:
        weights = random.uniform(-0.1, 0.1, shapes[node.input[0]]).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(weights, node.output[0]))
        model.graph.node.remove(node)
    names = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in names]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    model.ir_version = max(model.ir_version, 8)
    return model


def feed(name: str, model: onnx.ModelProto) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    fed = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        shape = INPUT_SHAPES.get(name, [dim.dim_value or 1 for dim in tensor.shape.dim])
        fed[value.name] = (random.uniform(-1, 1, shape) * (100 if dtype.kind in "iu" else 1)).astype(dtype)
    return fed
