"""Versions of packages that tests compare with, and what those that are installed get wrong."""

from __future__ import annotations

from importlib import metadata

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper


def installed(package: str) -> tuple[int, int]:
    """First two numbers of the version of an installed package."""
    major, minor = metadata.version(package).split(".")[:2]
    return int(major), int(minor)


def since(package: str, version: tuple[int, int], reason: str) -> pytest.MarkDecorator:
    """For tests of what older versions of a package do otherwise."""
    return pytest.mark.skipif(installed(package) < version, reason=reason)


def integer_products_are_right() -> bool:
    """Whether ONNX Runtime multiplies matrices of integers rightly on this processor.

    Two of the least products that 1.21 to 1.24 get wrong where it has AMX: uint8 by uint8, and uint8 by int8.
    """
    generator = np.random.default_rng(0)
    for rows, dtype in ((32, np.uint8), (64, np.int8)):
        left = generator.integers(0, 256, (rows, 3)).astype(np.uint8)
        right = generator.integers(0, 128, (3, 17)).astype(dtype)
        graph = helper.make_graph(
            [helper.make_node("MatMulInteger", ["a", "b"], ["y"])],
            "product",
            [helper.make_tensor_value_info("a", TensorProto.UINT8, left.shape)],
            [helper.make_tensor_value_info("y", TensorProto.INT32, (rows, 17))],
            [numpy_helper.from_array(right, "b")],
        )
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        if (session.run(None, {"a": left})[0] != left.astype(np.int32) @ right.astype(np.int32)).any():
            return False
    return True


needs_right_products = pytest.mark.skipif(
    not integer_products_are_right(),
    reason="this ONNX Runtime multiplies matrices of integers wrongly on this processor (docs/contributing.md)",
)
"""For tests of proofs that fail where it does."""
needs_lasting_runtime = since(
    "onnxruntime", (1, 23), "this ONNX Runtime ends its process on the model (docs/contributing.md)"
)
"""For tests that run it in their own process, with an If of constant condition or yunet_n_dynamic grown."""
