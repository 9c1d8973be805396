"""What an image says in the words of the settings: CPU, release, compiler, runtime, how kernels are built, memory.

RAM and flash are the largest regions of a map file beside it: what does not fit there fits nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.build import Build, LibraryBuild
from onnxlint_cmsis.images.placement import placement

OLDER = ("cmsis5-", "4.0.0")
"""Beginnings of releases before those that TensorFlow Lite Micro has brought since May 2023."""
MOST_JUDGED = 3
"""Releases that each model is judged for."""


class BuildSettings(NamedTuple):
    """Values of settings that an image gives."""

    values: dict[str, object]
    """Raw value by key; without those that it does not tell."""
    releases: tuple[str, ...] = ()
    """Releases of CMSIS-NN that it can be, oldest first; none where it does not tell."""
    judged: tuple[str, ...] = ()
    """Those of them that models are judged for: all where they are few, else the ends."""
    others: tuple[str, ...] = ()
    """Cores that the same code is for, where the image names an architecture alone."""


def _same(key: str, memories: Sequence[Mapping[str, str]]) -> bool:
    return len({told.get(key) for told in memories}) == 1


def _largest_regions(build: Build) -> dict[str, int]:
    """Bytes of `ram` and `flash`; without what the regions of the map file do not explain, as where flash has a w."""
    regions = build.memory.regions if build.memory else ()
    rooms = {}
    for key, writable in (("ram", True), ("flash", False)):
        own = [region for region in regions if region.writable is writable]
        sections = [row for row in build.image.sections if row.loaded and row.size and not row.array]
        lying = [row.address for row in sections if row.writable is writable]
        if own and all(any(region.holds(address) for region in own) for address in lying):
            rooms[key] = max(region.size for region in own)
    return rooms


def build_settings(build: Build | LibraryBuild, cpus: Sequence[str] = ()) -> BuildSettings:
    """What an image or a library says of the build; `cpus` are the targets that people name."""
    values: dict[str, object] = {}
    cores = build.attributes.cores
    if build.cpu:
        values["targets"] = [build.cpu]
    compilers = {compiler.setting for compiler in build.compilers}
    if len(compilers) == 1 and "" not in compilers:
        values["compiler"] = next(iter(compilers))
    releases = build.library.releases if build.library else ()
    since = build.runtime.since if isinstance(build, Build) and build.runtime else ""
    later = tuple(release for release in releases if not release.startswith(OLDER))
    releases = later if since and later else releases
    if releases:
        values["release"] = releases[-1]
    if isinstance(build, Build):
        runtime = build.runtime
        if runtime and runtime.name in ("tflm", "executorch", "tvm"):
            values["runtime"] = runtime.name
        if build.reference:
            values["cmsis-nn-build"] = "NONE"
        values |= {key: str(size) for key, size in _largest_regions(build).items()}
        memories = [placement(build, cpu) for cpu in cpus or filter(None, [build.cpu])]
        values |= {key: memory for key, memory in (memories[0] if memories else {}).items() if _same(key, memories)}
    judged = releases if len(releases) <= MOST_JUDGED else (releases[0], releases[-1])
    return BuildSettings(values, releases, judged, cores[1:])
