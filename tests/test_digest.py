"""What every command says of every model beside the project is what it said before."""

from __future__ import annotations

import json

import pytest

import digest as answers
from support.paths import SHARED

MODELS = answers.models()
GROUPS = 40
"""Groups of models, so that processes share the work evenly."""


@pytest.mark.skipif(not SHARED.exists(), reason="needs the models in a folder `shared` beside the project")
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_answer_is_what_it_was(group: int) -> None:
    """`python scripts/digest.py --update` writes the digest after a change that is meant."""
    lines = answers.GOLDEN.read_text(encoding="utf-8").splitlines()
    before = {model: json.loads(hashes) for model, _, hashes in (line.partition(" ") for line in lines)}
    known = [model for model in MODELS if answers.name(model) in before]
    assert known
    changed = []
    for model in known[group::GROUPS]:
        now, old = answers.digest(model), before[answers.name(model)]
        changed += [
            (answers.name(model), label) for label in now.keys() | old.keys() if now.get(label) != old.get(label)
        ]
    assert changed == [], "python scripts/digest.py --show MODEL ANSWER shows one answer whole"
