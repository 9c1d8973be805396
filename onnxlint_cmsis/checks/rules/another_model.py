"""The model in the image is not this file.

It is compared byte for byte with the models that the image has. Where the file is in a git repository, the commit is
named whose version of the file is in the image.

**What to do.** Build the firmware with the model, or lint the model that is in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.deployment import Deployment
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.file_history import version_in
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.ground.words import NAMED

RULE = Rule(
    code="CNN710",
    name="another-model",
    level=Level.WARNING,
    effect=Effect.NOTE,
    summary="The model in the image is not this file.",
    docs=__doc__,
    bad=Example(None, options="--firmware app.elf", shown="another model than that of the image", name="model.tflite"),
    good=Example(None, options="--firmware app.elf", shown="the model of the image", name="model.tflite"),
)


def run(deployment: Deployment) -> Iterator[Statement]:
    """Compare the file with the models of the image."""
    models = [model for model in deployment.build.models if model.suffix == deployment.model.format.suffix]
    if deployment.inside is not None or not models:
        return
    path = deployment.build.path
    commit = version_in(deployment.model.path, [model.data for model in models])
    if commit:
        ago = f"{commit.behind} version{'s' if commit.behind > 1 else ''} ago" if commit.behind else "not as it is now"
        text = f"{path} has this file as of commit {commit.name}, {ago}."
    else:
        names = ", ".join(f"{model.label} ({len(model.data):,} bytes)" for model in models[:NAMED])
        text = f"{path} does not have this model ({deployment.model.size:,} bytes); it has {names}."
    yield deployment.say(text, "Build the firmware with this file, or lint the image: its own model is judged.")
