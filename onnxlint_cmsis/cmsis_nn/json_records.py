"""What the library does with a layer that is given by its sizes as a JSON record."""

from __future__ import annotations

from collections.abc import Mapping

from onnxlint_cmsis.cmsis_nn.apis import LEGACY, api_of
from onnxlint_cmsis.cmsis_nn.cost import cost_of_route, instructions_range
from onnxlint_cmsis.cmsis_nn.dispatch_records import FLOAT_KEYS, IGNORED, ROUTE_KEYS, wrapper_call
from onnxlint_cmsis.cmsis_nn.duties import duty_of
from onnxlint_cmsis.cmsis_nn.json_fields import target_of
from onnxlint_cmsis.cmsis_nn.layer_records import COST_KEYS, OTHERS, call_of
from onnxlint_cmsis.cmsis_nn.route import route
from onnxlint_cmsis.ground.types import Target
from onnxlint_cmsis.ground.words import did_you_mean

_ANSWERS = (
    "kernel", "chain", "effective", "status", "buffer_size", "buffer_size_2", "hazards", "hazard_ids", "why", "reason",
    "instructions", "instructions_range", "before",
)  # fmt: skip


def shape_answer(record: Mapping[str, object], default: Target) -> dict[str, object]:
    """The same record with what the library does: kernel, chain, effective, status, sizes, hazards, why, instructions.

    A record has the fields of the dispatch vectors, with `wrapper`, or those of the cost vectors, with `kind`: see
    `wrapper_call` and `call_of`. What is missing or null of `version`, `isa` (or `cpu`) and `compiler` is the default
    target's. Answers already present are replaced. `hazards` has the kinds of those met; `instructions` are predicted
    (not cycles), null where unknown; `instructions_range` is there where the data or versions of the compiler decide.
    `before` says what the application computes before the call, where it does.

    Raises:
        ValueError: with the field, what was found and what is allowed.

    """
    by_kind = record.get("wrapper") is None and record.get("kind") is not None
    keys, others = (COST_KEYS, OTHERS) if by_kind else ((*ROUTE_KEYS, *FLOAT_KEYS), IGNORED)
    for name in record:
        if name not in (*keys, *_ANSWERS, *others):
            raise ValueError(f"field '{name}' is not known{did_you_mean(name, keys)}")
    target, call = target_of(record, default), call_of(record) if by_kind else wrapper_call(record)
    if api_of(call.entry) is not LEGACY:
        api_of(call.entry).refuse_without(target.release)
    taken = route(call, target)
    values = {**call.variables(), **taken.seen}
    hazards = (*taken.hazards, *taken.inexact)
    answer: dict[str, object] = {
        **{name: value for name, value in record.items() if name not in _ANSWERS},
        "kernel": taken.kernel,
        "chain": list(taken.chain),
        "effective": taken.effective,
        "status": taken.status,
        "buffer_size": taken.buffer_size,
        "buffer_size_2": taken.reverse_buffer_size,
        "hazards": list(dict.fromkeys(hazard.kind for hazard in hazards)),
        "hazard_ids": [hazard.id for hazard in hazards],
        "instructions": cost_of_route(call, target, taken),
        "why": [
            {
                "kernel": branch.kernel,
                "taken": not failed,
                "failed": [condition.explain_with(values) for condition in failed],
                "source": str(branch.origin.source(target.release)),
            }
            for branch, failed in taken.tried
        ],
    }
    duty = duty_of(call, target) if taken.kernel else None
    if duty is not None:
        answer["before"] = {"call": duty.call(target.release), "what": duty.what, "otherwise": duty.otherwise}
    ends = instructions_range(call, target, taken)
    between = {"instructions_range": list(ends)} if ends else {}
    return {**answer, **between, **({"reason": taken.reason} if taken.reason else {})}
