"""The application does not register an operator of the model, or its resolver is too small.

The operators that code of the image registers are those whose `tflite::Register_...` it calls, which is sure in an
image with symbols; the room of `MicroMutableOpResolver<N>` is in the name of its table. Where one is missing, or no
resolver has room for as many as the model has, AllocateTensors returns an error: "Didn't find op for builtin opcode". A
warning says where the application registers more than the resolver has room for: those that it adds last are not
registered. Where the linker optimized the whole program (-flto), calls are gone: a warning names operators of the model
that no symbol is called by. Nothing is said with AllOpsResolver.

**What to do.** Add the calls that the message names, and room for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from onnxlint_cmsis.checks.deployment import Deployment
from onnxlint_cmsis.checks.rule import Example, Rule
from onnxlint_cmsis.ground.findings import Effect, Statement
from onnxlint_cmsis.ground.types import Level
from onnxlint_cmsis.images.runtime_use import RuntimeUse
from onnxlint_cmsis.runtimes.tflm.resolver import CUSTOM_METHODS, method_of

PARSERS = "getopdataparser"
"""In a function of a resolver: where a program has it, it has the kernels and parsers that the resolver points at."""
WORD = re.compile(r"[A-Z][a-z]{3,}")
"""Words of a method's name that can tell whether others are called so."""

RULE = Rule(
    code="CNN704",
    name="operator-not-registered",
    level=Level.ERROR,
    effect=Effect.STOPS,
    summary="The application does not register an operator of the model, or its resolver is too small.",
    docs=__doc__,
    bad=Example(None, shown="an image for a Cortex-M4 that registers no CONV_2D", name="app.elf"),
    good=Example(None, shown="an image for a Cortex-M4", name="app.elf"),
)


def run(deployment: Deployment) -> Iterator[Statement]:
    """Name operators of the model that no code registers, and a resolver with too little room."""
    runtime, resolver = deployment.build.runtime, deployment.model.execution.resolver
    if runtime is None or runtime.every or resolver is None:
        return
    if runtime.registered is None:
        yield from _unnamed(deployment, [row.method for row in resolver.operators if not row.custom_code])
        return
    registered = {method_of(operator) for operator in runtime.registered}
    builtin = [row.method for row in resolver.operators if not row.custom_code]
    missing = [method for method in builtin if method not in registered and method not in CUSTOM_METHODS.values()]
    room = next(iter(runtime.resolvers), None)
    if missing:
        calls = ", ".join(f"{method}()" for method in missing)
        several = "operators" if len(missing) > 1 else "an operator"
        text = (
            f"The application does not register {several} of the model: no code of {deployment.build.path} calls "
            f'{calls}. AllocateTensors returns an error: "Didn\'t find op for builtin opcode".'
        )
        more = f" and declare MicroMutableOpResolver<{len(runtime.registered) + len(missing)}> for <{room}>"
        full = room is not None and room < len(runtime.registered) + len(missing)
        yield deployment.say(text, f"Call {calls} of the resolver{more if full else ''}.")
    elif room is not None:
        yield from _room(deployment, runtime, len(resolver.operators))


def _unnamed(deployment: Deployment, methods: list[str]) -> Iterator[Statement]:
    """Operators that no symbol of a whole program is called by: their kernels and parsers would be in it."""
    names = "\n".join(deployment.build.image.names).lower()
    if PARSERS not in names or not deployment.build.runtime or not deployment.build.runtime.whole_program:
        return
    words = {method: [word.lower() for word in WORD.findall(method.removeprefix("Add"))] for method in methods}
    missing = [method for method, parts in words.items() if parts and not any(part in names for part in parts)]
    if missing:
        calls = ", ".join(f"{method}()" for method in missing)
        text = (
            f"The application may not call {calls}: no symbol of {deployment.build.path}, which the linker optimized "
            "as a whole, has that name. AllocateTensors then returns an error."
        )
        yield deployment.say(text, f"Call {calls} of the resolver.", level=Level.WARNING, effect=Effect.MAY_FAIL)


def _room(deployment: Deployment, runtime: RuntimeUse, needed: int) -> Iterator[Statement]:
    """No resolver with room for the model, or the only one without room for all that is registered for it alone."""
    room, registered = runtime.resolvers[0], len(runtime.registered or ())
    remedy = f"Declare MicroMutableOpResolver<{max(needed, registered)}>."
    if room < needed:
        text = (
            f"The resolver has room for {room} operators, and the model has {needed}: the last ones are not "
            "registered. AllocateTensors returns an error."
        )
        yield deployment.say(text, remedy)
    elif room < registered and len(runtime.resolvers) == len(deployment.build.models) == 1:
        text = (
            f"The resolver has room for {room} operators, and the application registers {registered}: those "
            "that it adds last are not registered, and may be the model's."
        )
        yield deployment.say(text, remedy, level=Level.WARNING, effect=Effect.MAY_FAIL)
