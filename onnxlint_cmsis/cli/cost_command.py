"""`onnxlint-cmsis cost`: predicted instructions of layers given as JSON lines."""

from __future__ import annotations

from onnxlint_cmsis.cli.options import CommandParser, add_lines, answer_file


def run(argv: list[str]) -> int:
    """Answer each record with its predicted instructions."""
    from onnxlint_cmsis.cmsis_nn.json_records import cost_answer

    return answer_file(make_parser().parse_args(argv), cost_answer)


def make_parser() -> CommandParser:
    """The options of the command."""
    from onnxlint_cmsis.cmsis_nn.json_records import COST_KINDS

    parser = CommandParser(
        "cost",
        "Predict the instructions (not cycles) that CMSIS-NN retires for a layer, null where nothing was measured "
        f"that says: for JSON lines with the fields kind ({', '.join(COST_KINDS)}), h, w, in_c, kh, kw, out_c, out_h, "
        "out_w, stride_h, stride_w, pad_h, pad_w, dil_h, dil_w, ch_mult, version, isa or cpu, compiler. A pad also has "
        "front_c, a transpose rank and axis_0 to axis_3, maximum and minimum second_n, second_h, second_w, second_c.",
    )
    add_lines(parser)
    return parser
