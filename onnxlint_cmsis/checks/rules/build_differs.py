"""What is set is not what the image was built with.

Release, CPU, compiler and runtime of an image are compared with the settings: from a file or the command line. Findings
hold for what is set. A release is found out as a range: the setting differs where it is not in it.

**What to do.** Leave the setting out, so that the image decides, or build what it says.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnxlint_cmsis.checks.deployment import ImageSubject
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.images.settings import build_settings

RULE = Rule(
    code="CNN709",
    name="build-differs",
    level=Level.WARNING,
    effect=Effect.NOTE,
    summary="What is set is not what the image was built with.",
    docs=__doc__,
    bad=Example(None, options="--target m55", shown="an image for a Cortex-M4", name="app.elf"),
    good=Example(None, options="--target m4", shown="an image for a Cortex-M4", name="app.elf"),
)


def run(subject: ImageSubject) -> Iterator[Statement]:
    """Compare each setting that people gave with what the image tells."""
    build, told = subject.build, build_settings(subject.build)
    cores = build.attributes.cores if build.attributes.sure else ()
    by_cpu = {target.cpu: target for target in subject.targets}  # of which each release makes one
    for target in by_cpu.values() if cores else ():
        if target.cpu.partition("+no")[0] not in cores:
            yield _differs(subject, "targets", target.cpu, f"code for {' or '.join(cores)}")
        elif build.library and build.library.isa and build.library.isa is not target.isa and told.values:
            yield _differs(subject, "targets", target.cpu, f"CMSIS-NN for {build.cpu}")
    release = subject.stated.get("release")
    if release and told.releases and release.value not in told.releases:
        ends = dict.fromkeys((told.releases[0], told.releases[-1]))
        yield _differs(subject, "release", release.value, f"CMSIS-NN {' to '.join(ends)}")
    compiler, built = subject.stated.get("compiler"), str(told.values.get("compiler", ""))
    if compiler and built and not f"{built}.".startswith((f"{compiler.value}.", f"{compiler.value}@")):
        yield _differs(subject, "compiler", compiler.value, built)
    runtime, linked = subject.stated.get("runtime"), str(told.values.get("runtime", ""))
    if runtime and linked and runtime.value.partition("@")[0] not in (linked, "auto"):
        yield _differs(subject, "runtime", runtime.value, linked)


def _differs(subject: ImageSubject, key: str, value: str, built: str) -> Statement:
    stated = subject.stated.get(key)
    origin = f" ({stated.origin})" if stated else ""
    return subject.say(
        f"`{key}` is {value}{origin}, and the image has {built}: findings hold for what is set.",
        f"Leave `{key}` out, so that the image decides, or build for {value}.",
        properties={"setting": key, "value": value, "built": built},
    )
