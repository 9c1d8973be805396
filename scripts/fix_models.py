"""Fix every model of a folder under every policy for three CPUs: python scripts/fix_models.py FOLDER [--only NAME].

Nothing is written. Each line says what came of one model, policy and target: fixed with its gain, or left alone with
the reason. A fix has to be proven, to cost no more where the policy is to make it faster, and to find nothing to do the
second time; what is not so is printed with FAILED, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from onnxlint_cmsis.cli.fix_promises import fix_request  # noqa: E402
from onnxlint_cmsis.config.files import make_settings  # noqa: E402
from onnxlint_cmsis.fixers.fix_model import fix_model  # noqa: E402
from onnxlint_cmsis.fixers.planning.policies import POLICIES  # noqa: E402
from onnxlint_cmsis.fixers.report import Fixed  # noqa: E402
from onnxlint_cmsis.model.model_error import ModelError  # noqa: E402
from onnxlint_cmsis.output.proofs import proof_text  # noqa: E402

TARGETS = ("cortex-m0", "cortex-m4", "cortex-m55")


def outcomes(path: Path, policy: str, target: str) -> Iterator[tuple[bool, str]]:
    """(good, text) of one fix and of fixing its outcome again."""
    request = fix_request(make_settings(targets=[target], fix_policy=policy))
    try:
        fixed = fix_model(str(path), path.read_bytes(), request)
    except ModelError as error:
        yield True, f"left: {error.message}"
        return
    yield _judged(fixed, policy)
    if fixed.model is not None:
        again = fix_model(str(path), fixed.model, request).result
        if again.changed or again.failed:
            yield False, f"the second fix: {'changed it' if again.changed else again.reason}"


def _judged(fixed: Fixed, policy: str) -> tuple[bool, str]:
    result = fixed.result
    if not result.changed:
        return not result.failed, f"left: {result.reason}"
    (total,) = result.totals
    text = (
        f"fixed: {total.instructions:,} -> {total.new_instructions:,} predicted instructions ({total.percent:+.1f} %), "
        f"{len(result.classes)} classes, {len(result.repairs)} hazards repaired; {proof_text(result.proof)}"
        if result.proof
        else "fixed without a proof"
    )
    good = result.proof is not None and (policy != "faster" or total.percent < 0 or bool(result.repairs))
    return good, text


def main(argv: list[str]) -> int:
    """Print what came of each; 1 where something failed."""
    parser = argparse.ArgumentParser(description="Fix every model of a folder under every policy; write nothing.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="models whose name contains this")
    args = parser.parse_args(argv)
    failed = 0
    for path in sorted(path for path in args.folder.glob("*.onnx") if args.only in path.name):
        for policy, target in product(POLICIES, TARGETS):
            started = time.perf_counter()
            try:
                results = list(outcomes(path, policy, target))
            except Exception as error:
                results = [(False, f"{type(error).__name__}: {error}")]
            for good, text in results:
                failed += not good
                seconds = time.perf_counter() - started
                print(f"{'' if good else 'FAILED '}{path.name} {policy} {target} ({seconds:.1f} s): {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
