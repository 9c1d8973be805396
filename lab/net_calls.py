"""Makes tests/data/net_calls.json: python lab/net_calls.py FOLDER.

Keeps the calls of CMSIS-NN of public nets that were measured on silicon, so that their times can be predicted without
their files. FOLDER holds the `.tflite` files, by the names of NETS: the nets of Arm's ML-zoo as
DivinityQQ/MicroAI_Benchmark has them. A net with a layer of CMSIS-NN whose call is not known is left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from onnxlint_cmsis.analysis.analysis import ModelAnalysis
from onnxlint_cmsis.config.files import make_settings
from onnxlint_cmsis.ground.types import Dims, KernelCall, Pair
from onnxlint_cmsis.lower.outcome import Outcome

FILE = Path(__file__).resolve().parent.parent / "tests" / "data" / "net_calls.json"
NETS = (
    *(f"{kind}_{size}_quantized" for kind in ("cnn", "dnn", "ds_cnn") for size in "sml"),
    *("kws_micronet_s", "kws_micronet_m", "vww3_128_128_INT8"),
)
KEPT = ("entry", "input_dims", "filter_dims", "output_dims", "stride", "padding", "pad_after", "ch_mult", "per_channel")
"""Fields of a call that its cost depends on."""


def call_of(record: dict[str, Any]) -> KernelCall:
    """The call that a record keeps."""
    fields: dict[str, Any] = dict(record)
    for names, kind in ((KEPT[1:4], Dims), (KEPT[4:7], Pair)):
        fields |= {name: kind(*record[name]) for name in names}
    return KernelCall(**fields)


def calls_of(path: Path) -> list[dict[str, Any]] | None:
    """The calls of a net under TensorFlow Lite Micro; None where one is not known."""
    settings = make_settings(str(path), targets=["cortex-m4"], runtime="tflm")
    model, (target,) = ModelAnalysis(str(path), settings.analysis), settings.targets
    calls = []
    for record in model.repeated:
        refusal = model.refusal(record, target)
        if record.call is not None and not refusal:
            calls.append({name: getattr(record.call, name) for name in KEPT})
        elif refusal and refusal.verdict is Outcome.CMSIS_NN:
            return None
    return calls


def main(argv: list[str]) -> int:
    """Write the file."""
    nets = {name: calls for name in NETS if (calls := calls_of(Path(argv[0]) / f"{name}.tflite"))}
    lines = ",\n".join(
        f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, calls)) + "\n]" for name, calls in nets.items()
    )
    FILE.write_text(f"{{\n{lines}\n}}\n")
    print(", ".join(f"{name} {len(calls)}" for name, calls in nets.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
