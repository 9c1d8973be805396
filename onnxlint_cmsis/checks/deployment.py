"""What rules on firmware look at: an image with what is set for it, and a model that runs in one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from onnxlint_cmsis.ground.findings import Effect, Location, Statement
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.types import Level, Target
from onnxlint_cmsis.images.build import Build, LibraryBuild
from onnxlint_cmsis.images.build_system import OTHER, BuildSystem, build_system

if TYPE_CHECKING:
    from onnxlint_cmsis.analysis.analysis import ModelAnalysis
    from onnxlint_cmsis.images.models_inside import InsideModel


class StatedSetting(NamedTuple):
    """A setting that people gave, of which the image tells too."""

    value: str
    """What they gave."""
    origin: str
    """Where: the command line, or a file."""


class ImageSubject(NamedTuple):
    """An image with what is set for it."""

    build: Build | LibraryBuild
    """What it tells."""
    stated: Mapping[str, StatedSetting] = {}
    """What people set, by key of the settings; without what they left open."""
    targets: tuple[Target, ...] = ()
    """CPUs that people set; none where they left it open."""
    used: frozenset[str] | None = None
    """Methods that register the operators of all models of the image; None where a model could not be read."""

    @property
    def system(self) -> BuildSystem:
        """The build system that made it."""
        return build_system(self.build.image) if isinstance(self.build, Build) else OTHER

    def say(self, message: str, remedy: str = "", **more: object) -> Statement:
        """Say something of the image."""
        return Statement(message, Location(self.build.path), remedy=remedy, **more)  # type: ignore[arg-type]


class Deployment(NamedTuple):
    """A model in an image."""

    model: ModelAnalysis
    """The model."""
    build: Build
    """The image."""
    inside: InsideModel | None
    """The model among those of the image; None where its bytes are not in it."""

    def say(
        self, message: str, remedy: str = "", *, level: Level | None = None, effect: Effect | None = None
    ) -> Statement:
        """Say something of the model."""
        return Statement(message, Location(self.model.path), remedy=remedy, level=level, effect=effect)
