"""`onnxlint-cmsis cost`: predicted instructions of layers given as JSON lines."""

from __future__ import annotations

from onnxlint_cmsis.commands.json_lines import add_lines, answer_file
from onnxlint_cmsis.commands.options import CommandParser


def run(argv: list[str]) -> int:
    """Answer each record with its predicted instructions."""
    from onnxlint_cmsis.cmsis_nn.cost.records import answer

    return answer_file(make_parser().parse_args(argv), answer)


def make_parser() -> CommandParser:
    """The options of the command."""
    from onnxlint_cmsis.cmsis_nn.cost.records import ENTRIES

    parser = CommandParser(
        "cost",
        "Predict the instructions (not cycles) that CMSIS-NN retires for a layer, null where nothing was measured "
        f"that says: for JSON lines with the fields kind ({', '.join(ENTRIES)}), h, w, in_c, kh, kw, out_c, out_h, "
        "out_w, stride_h, stride_w, pad_h, pad_w, dil_h, dil_w, ch_mult, version, isa or cpu, compiler. A pad also has "
        "front_c, a transpose rank and axis_0 to axis_3, maximum and minimum second_n, second_h, second_w, second_c.",
    )
    add_lines(parser)
    return parser
