"""What every command says of every model beside the project is what it said before."""

from __future__ import annotations

import json

import pytest

import digest as answers
from support.nightly import one_of
from support.paths import SHARED

MODELS = answers.models()
GROUPS = 40
"""Groups of models, so that processes share the work evenly."""
SHARES = 8
"""A push compares one answer of so many about each model: other ones about the next."""


@pytest.mark.skipif(not SHARED.exists(), reason="needs the models in a folder `shared` beside the project")
@pytest.mark.parametrize("share", one_of(SHARES, range(SHARES)))
@pytest.mark.parametrize("group", range(GROUPS))
def test_every_answer_is_what_it_was(group: int, share: int) -> None:
    """`python scripts/digest.py --update` writes the digest after a change that is meant."""
    lines = answers.GOLDEN.read_text(encoding="utf-8").splitlines()
    before = {model: json.loads(hashes) for model, _, hashes in (line.partition(" ") for line in lines)}
    known = [model for model in MODELS if answers.name(model) in before]
    assert known
    assert {label for hashes in before.values() for label in hashes} == {answer.label for answer in answers.ANSWERS}
    changed = []
    for number, model in enumerate(known[group::GROUPS]):
        first = (share + number) % SHARES
        now, old = answers.digest(model, first, SHARES), before[answers.name(model)]
        asked = {answer.label for answer in answers.ANSWERS[first::SHARES]}
        changed += [
            (answers.name(model), label)
            for label in asked & (now.keys() | old.keys())
            if now.get(label) != old.get(label)
        ]
    assert changed == [], "python scripts/digest.py --show MODEL ANSWER shows one answer whole"
