"""Exports ExecuTorch programs of one operator, with inputs and with what PyTorch makes of them.

`python lab/draw_programs.py FOLDER COUNT [SEED] [FAMILY...]` writes COUNT programs of each family below FOLDER, each
with a file of JSON beside it: its inputs as the device reads them, the type of its result, its sizes, order of memory
and bytes. Needs `executorch` and `torch` of the release that exports. What an exporter refuses is told and left out.
lab/zoo_programs.py runs them.
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

FORMS = {"int8": 5, "int8-channels-last": 3, "int16": 1, "float": 2}
"""Forms of a program, and how often each is drawn."""
CORES = ("M3", "M4", "M4", "M55")
Sizes = tuple[int, ...]


class Layer(NamedTuple):
    """A layer and the sizes of its inputs."""

    compute: Any
    """A module of PyTorch, or a function of tensors."""
    inputs: tuple[Sizes, ...]
    """Sizes of the inputs."""


def _image(chance: random.Random, channels: int = 0, least: int = 1) -> Sizes:
    batch = chance.choice((1, 1, 1, 2))
    return batch, channels or chance.randint(1, 17), chance.randint(least, 11), chance.randint(least, 11)


def _sizes(chance: random.Random, most: int = 9) -> Sizes:
    return tuple(chance.randint(1, most) for _ in range(chance.randint(1, 4)))


def _convolution(chance: random.Random) -> Layer:
    from torch import nn

    groups = chance.choice((1, 1, 1, 1, 2, 3))
    channels, filters = groups * chance.randint(1, 9), groups * chance.randint(1, 9)
    kernel = chance.choice((1, 1, 2, 3, 5)), chance.choice((1, 1, 2, 3, 5))
    stride, padding = chance.choice((1, 1, 2, 3)), (chance.randint(0, kernel[0]), chance.randint(0, kernel[1]))
    layer = nn.Conv2d(channels, filters, kernel, stride, padding, 1, groups, chance.random() < 0.7)
    end = chance.choice(((), (nn.ReLU(),), (nn.ReLU6(),), (nn.Hardtanh(-1, 1),)))
    return Layer(nn.Sequential(layer, *end), (_image(chance, channels, 5),))


def _depthwise(chance: random.Random) -> Layer:
    from torch import nn

    channels, kernel = chance.randint(1, 17), chance.choice((1, 2, 3, 5))
    dilation = chance.choice((1, 1, 2)) if kernel < 5 else 1
    filters = channels * chance.choice((1, 1, 1, 2, 3))
    layer = nn.Conv2d(channels, filters, kernel, chance.choice((1, 1, 2)), chance.randint(0, 2), dilation, channels)
    return Layer(layer, (_image(chance, channels, 5),))


def _transposed(chance: random.Random) -> Layer:
    from torch import nn

    stride, kernel = chance.choice((1, 2)), chance.choice((1, 2, 3, 4))
    channels = chance.randint(1, 9)
    padding, more = chance.randint(0, kernel - 1), chance.randint(0, stride - 1)
    layer = nn.ConvTranspose2d(channels, chance.randint(1, 9), kernel, stride, padding, more)
    return Layer(layer, (_image(chance, channels, 2),))


def _dense(chance: random.Random) -> Layer:
    from torch import nn

    depth, rows = chance.randint(1, 40), chance.randint(1, 5)
    sizes = chance.choice(((1, depth), (rows, depth), (1, rows, depth), (2, 3, 2, depth)))
    return Layer(nn.Linear(depth, chance.randint(1, 20), chance.random() < 0.7), (sizes,))


def _pool(chance: random.Random) -> Layer:
    from torch import nn

    kernel, stride = chance.randint(1, 4), chance.randint(1, 3)
    padding, up = chance.randint(0, kernel // 2), chance.random() < 0.15
    average = nn.AvgPool2d(kernel, stride, padding, up, chance.random() < 0.3)
    return Layer(chance.choice((average, nn.MaxPool2d(kernel, stride, padding, 1, False, up))), (_image(chance, 0, 4),))


def _pair(chance: random.Random) -> Layer:
    import torch

    sizes = _sizes(chance)
    other = chance.choice((sizes, sizes, sizes, tuple(chance.choice((1, size)) for size in sizes)))
    operators = torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum
    return Layer(chance.choice(operators), (sizes, other))


def _curve(chance: random.Random) -> Layer:
    from torch import nn

    curves = nn.ReLU, nn.Sigmoid, nn.Tanh, nn.Hardswish, nn.Hardsigmoid, nn.SiLU, nn.GELU, nn.ReLU6, nn.LeakyReLU
    return Layer(chance.choice(curves)(), (_sizes(chance),))


def _softmax(chance: random.Random) -> Layer:
    from torch import nn

    return Layer(nn.Softmax(dim=chance.choice((-1, -1, -1, 0))), (_sizes(chance, 12),))


def _moved(chance: random.Random) -> Layer:
    import torch

    sizes = _image(chance, 0, 2)
    axes = [0, 1, 2, 3]
    chance.shuffle(axes)
    moves: tuple[Callable[[Any], Any], ...] = (
        lambda x: x.permute(axes),
        lambda x: torch.nn.functional.pad(x, (1, 0, 2, 1), value=0.5),
        lambda x: torch.cat((x, x), axes[0]),
        lambda x: x[:, :1],
        lambda x: x.reshape(1, -1),
        lambda x: x.amax((2, 3)),
        lambda x: x.mean((2, 3)),
        lambda x: torch.clamp(x, -0.5, 0.7),
    )
    return Layer(chance.choice(moves), (sizes,))


def _matrices(chance: random.Random) -> Layer:
    import torch

    batch, rows, depth, columns = (chance.randint(1, 7) for _ in range(4))
    return Layer(torch.bmm, ((batch, rows, depth), (batch, depth, columns)))


FAMILIES: dict[str, Callable[[random.Random], Layer]] = {
    "convolution": _convolution, "depthwise": _depthwise, "transposed": _transposed, "dense": _dense, "pool": _pool,
    "pair": _pair, "curve": _curve, "softmax": _softmax, "moved": _moved, "matrices": _matrices,
}  # fmt: skip


def _module(compute: Any) -> Any:
    """The module of a layer; a function becomes one."""
    from torch import nn

    if isinstance(compute, nn.Module):
        return compute.eval()
    module = nn.Module()
    # export looks at the signature of forward on the class
    arguments = compute.__code__.co_argcount if hasattr(compute, "__code__") else 2
    forward = (lambda _, x: compute(x)) if arguments == 1 else (lambda _, x, y: compute(x, y))
    module.__class__ = type("Layer", (nn.Module,), {"forward": forward})
    return module.eval()


def exported(layer: Layer, form: str, core: str, seed: int) -> tuple[bytes, dict[str, Any]]:
    """A program for a core, and what its file of JSON holds. Raises what the exporter raises."""
    import torch
    from executorch.backends.cortex_m.edge_compile_config import cortex_m_edge_compile_config
    from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
    from executorch.backends.cortex_m.quantizer.quantization_configs import INT16_PER_TENSOR_CONFIG
    from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer
    from executorch.backends.cortex_m.target_config import CortexM, CortexMTargetConfig
    from executorch.exir import EdgeProgramManager, to_edge
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    torch.manual_seed(seed)
    module, tensors = _module(layer.compute), tuple(torch.randn(sizes) for sizes in layer.inputs)
    if form.endswith("last"):
        last = torch.channels_last
        tensors = tuple(x.to(memory_format=last) if x.dim() == 4 else x for x in tensors)
        module = module.to(memory_format=last)
    program = torch.export.export(module, tensors, strict=True)
    if form != "float":
        quantizer = CortexMQuantizer(INT16_PER_TENSOR_CONFIG) if form == "int16" else CortexMQuantizer()
        prepared = prepare_pt2e(program.module(check_guards=False), quantizer)
        prepared(*tensors)
        program = torch.export.export(convert_pt2e(prepared), tensors, strict=True)
    edge = to_edge(program, compile_config=cortex_m_edge_compile_config())
    if form != "float":
        target = CortexMTargetConfig(CortexM[core])
        passed = CortexMPassManager(edge.exported_program(), target_config=target).transform()
        edge = EdgeProgramManager(passed, compile_config=cortex_m_edge_compile_config())
    outputs = edge.exported_program().module(check_guards=False)(*tensors)
    result = (outputs[0] if isinstance(outputs, (tuple, list)) else outputs).detach()
    told = {
        "inputs": [_bytes(tensor) for tensor in tensors],
        "type": str(result.dtype).removeprefix("torch."),
        "sizes": list(result.shape),
        "order": list(result.dim_order()) if result.dim() else [],
        "values": _bytes(result),
    }
    return edge.to_executorch().buffer, told


def _bytes(tensor: Any) -> str:
    """A tensor's elements as they lie in memory, in hexadecimal digits."""
    order = tensor.dim_order() if tensor.dim() else ()
    content: bytes = tensor.permute(order).contiguous().numpy().tobytes()
    return content.hex()


def main(folder: str, count: str, seed: str = "0", *families: str) -> int:
    """Write programs; 1 where none was exported."""
    warnings.simplefilter("ignore")
    Path(folder).mkdir(parents=True, exist_ok=True)
    written = 0
    for number in range(int(seed), int(seed) + int(count)):
        for family in families or FAMILIES:
            chance = random.Random(f"{family} {number}")
            layer = FAMILIES[family](chance)
            (form,), core = chance.choices([*FORMS], [*FORMS.values()]), chance.choice(CORES)
            name = f"{family}_{number}_{form}_{core.lower()}"
            try:
                program, told = exported(layer, form, core, number)
            except Exception as error:  # exporters raise what they like
                print(f"{name}: {type(error).__name__}: {(str(error).splitlines() or [''])[0][:150]}", file=sys.stderr)
                continue
            Path(folder, f"{name}.pte").write_bytes(program)
            Path(folder, f"{name}.json").write_text(json.dumps(told))
            written += 1
    print(f"{written} programs", file=sys.stderr)
    return int(not written)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
