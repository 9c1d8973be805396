"""Choose rows of the TensorFlow Lite Micro vectors for tests/data/tflm_sample.jsonl.gz: `sample_tflm.py SHARED`.

SHARED holds `vectors/tflm`, `models/tflite` and `cases/tflite`. Models are stored without names and weights.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onnxlint_cmsis.formats.tflite.file_model import TfliteModel, TfliteOperator, TfliteTensor
from onnxlint_cmsis.formats.tflite.read import read_tflite

ROOT = Path(__file__).resolve().parent.parent

TARGET = ROOT / "tests" / "data" / "tflm_sample.jsonl.gz"
REAL = ("kws_ref_model", "pretrainedResnet_quant", "ad01_int8", "vww_96_int8", "trained_lstm_int8", "micro_speech")
TRAPS = (
    "keyword_scrambled", "kws_ref_model_float32", "c2_group2_nobias2in", "c2_group2_s16_nobias", "c3_group2_1x1",
    "c_group3_co8", "c_s16_nobias", "c_s4", "c_wzp5", "d2_c124_nobias3in", "d2_c128_s16_nobias2in", "d_c128_nobias",
    "d2_mult2_nobias2in", "f_3d_pt_after4", "f_3d_pt_after5", "f_3d_pt_wzp5", "f_5d_pt", "f_s16_bias32", "f_dynw",
    "s_255", "s_s16_32000", "s_s8_s16", "p_avg_unequal", "a_scalar_1111", "x_max_unequal", "x2_max_rank5", "t_rank5",
    "pad_rank5_outer", "padv2_badscale", "tc_s8", "tc_s16", "b_mm_adjx", "r_mean", "g_orphan", "g_residual",
)  # fmt: skip
KEPT = (
    "model", "tflm", "cmsis_nn", "kernels", "cpu", "build", "optimized_for", "status", "message", "head", "tail",
    "persistent",
)  # fmt: skip
SHORT = 64
"""Constants up to so many bytes keep their values: shapes, axes, permutations, amounts of padding."""


def describe(model: TfliteModel) -> dict[str, Any]:
    """The model as a dict that tests write back to a file; constants longer than SHORT are their length alone."""
    codes: list[tuple[str, str, int]] = []
    subgraphs = [
        {
            "tensors": [_tensor(tensor) for tensor in subgraph.tensors],
            "inputs": list(subgraph.inputs),
            "outputs": list(subgraph.outputs),
            "operators": [_operator(operator, codes) for operator in subgraph.operators],
        }
        for subgraph in model.subgraphs
    ]
    buffers = [
        list(model.bytes_of(index)) if span.length <= SHORT else span.length for index, span in enumerate(model.buffers)
    ]
    return {"codes": codes, "subgraphs": subgraphs, "buffers": buffers}


def _tensor(tensor: TfliteTensor) -> dict[str, Any]:
    fields: dict[str, Any] = {"shape": list(tensor.shape), "type": tensor.elem_type, "buffer": tensor.buffer}
    if tensor.is_variable:
        fields["is_variable"] = True
    if tensor.quantization:
        scales, points, axis = tensor.quantization
        fields["quantization"] = {
            "scale": [scales[0]] * len(scales),
            "zero_point": list(points),
            "quantized_dimension": axis,
        }
    return fields


def _operator(operator: TfliteOperator, codes: list[tuple[str, str, int]]) -> dict[str, Any]:
    code = (operator.op, operator.custom_code, operator.version)
    if code not in codes:
        codes.append(code)
    fields: dict[str, Any] = {
        "opcode_index": codes.index(code),
        "inputs": list(operator.inputs),
        "outputs": list(operator.outputs),
        "intermediates": list(operator.intermediates) or None,
    }
    if operator.options:
        fields["builtin_options"] = (operator.options_type, operator.options)
    return fields


def rows(shared: Path) -> Iterator[dict[str, Any]]:
    """Rows of the chosen models, with CMSIS-NN and without."""
    for name in ("models", "synthetic"):
        with gzip.open(shared / "vectors" / "tflm" / f"{name}.jsonl.gz", "rt") as lines:
            for line in lines:
                row = json.loads(line)
                if row["model"].startswith(REAL + TRAPS):
                    yield row


def trimmed(row: dict[str, Any]) -> dict[str, Any]:
    """What a test compares."""
    operators = [[o["op"], o["cmsis_nn"], o["scratch"], o["status"]] for o in row["operators"]]
    return {**{key: row.get(key) for key in KEPT}, "operators": operators, "plan": row.get("plan")}


def main(shared: Path) -> None:
    """Write the sample: one line for each model, with its rows."""
    models: dict[str, list[dict[str, Any]]] = {}
    for row in rows(shared):
        models.setdefault(row["model"], []).append(trimmed(row))
    with gzip.GzipFile(TARGET, "wb", mtime=0) as file:
        for name, recorded in sorted(models.items()):
            folder = "models" if (shared / "models" / "tflite" / name).exists() else "cases"
            described = describe(read_tflite(shared / folder / "tflite" / name))
            file.write((json.dumps({"model": described, "rows": recorded}, separators=(",", ":")) + "\n").encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
