"""Configuration files: found, read, and laid under the command line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.cmsis_nn.families import FLOAT, INTEGER, LEGACY, family_named
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.config.converted import Place
from onnxlint_cmsis.config.keys import EVERY_TARGET, Key
from onnxlint_cmsis.config.kinds import SETTING_KINDS, setting_of
from onnxlint_cmsis.config.settings import KEYS, Settings
from onnxlint_cmsis.formats.format import ONNX, Format, file_of, format_of, is_image
from onnxlint_cmsis.ground.errors import UsageError
from onnxlint_cmsis.ground.files import TEXT, read_regular
from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.ground.words import did_you_mean
from onnxlint_cmsis.runtimes.runtime import DIRECT, Runtime, runtime_for

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from onnxlint_cmsis.config.given import SettingValues


# Configuration files: finding the nearest, reading its raw values.


OWN_FILE = "onnxlint-cmsis.toml"
PROJECT_FILE = "pyproject.toml"
SECTION = "onnxlint-cmsis"


class ConfigError(UsageError):
    """A configuration that cannot be used; the text names the file, the key and what is allowed."""


class SettingsLayer(NamedTuple):
    """Raw values from one place."""

    origin: str
    """The file, or `command line`."""
    root: str
    """Absolute folder that its relative paths start from."""
    values: dict[str, object]
    """Key name to raw value."""
    configured: frozenset[str] = frozenset()
    """Keys of the command line that `--config KEY=VALUE` gives, not an option."""
    releases: tuple[str, ...] = ()
    """Releases that firmware can be of; the value of `release` is the newest of them."""

    def origin_of(self, name: str) -> str:
        """Where a key's value is from: the file, `command line`, or `--config`."""
        return CONFIG if name in self.configured else self.origin


def nearest(folder: Path) -> Path | None:
    """The configuration file that holds for a folder: its own or the nearest above."""
    for parent in (folder, *folder.parents):
        own, project = parent / OWN_FILE, parent / PROJECT_FILE
        if own.is_file():
            return own
        if project.is_file() and _section(project) is not None:
            return project
    return None


def read(path: Path) -> SettingsLayer:
    """The raw values of a configuration file, its keys checked."""
    values = _section(path) if path.name == PROJECT_FILE else _toml(path, _text(path))
    if values is None:
        raise ConfigError(f"{path}: it has no [tool.{SECTION}] section")
    layer = SettingsLayer(str(path), str(absolute(str(path)).parent), values)
    refuse_unknown(layer)
    return layer


def _section(path: Path) -> dict[str, object] | None:
    """The tool's section of a pyproject.toml, None where it has none."""
    text = _text(path)
    if SECTION not in text:  # most projects': spare them the parser
        return None
    tool = _toml(path, text).get("tool", {})
    section = tool.get(SECTION) if isinstance(tool, dict) else None
    if section is not None and not isinstance(section, dict):
        raise ConfigError(f"{path}: tool.{SECTION} is not a table")
    return section


def _text(path: Path) -> str:
    try:
        return read_regular(path, TEXT).decode("utf-8-sig")  # editors of Windows begin with a mark
    except OSError as error:
        raise ConfigError(f"{path}: the configuration cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not valid TOML: it is not UTF-8 at byte {error.start}") from error


def _toml(origin: Path | str, text: str) -> dict[str, Any]:
    """The text of a TOML file as a dictionary; ConfigError names the file."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{origin}: not valid TOML: {error}") from error
    return values


def configured_by(texts: Iterable[str]) -> tuple[str, dict[str, object]]:
    """The file that `--config FILE` names, empty for none, and the raw values of `--config KEY=VALUE`.

    A value is TOML; a bare word is a text: `weights-in=tcm`. The last value of a key counts. What is the path of
    a file, or has no `=`, is a file.

    Raises:
        ConfigError: two files, a key that does not exist, or a value that is no TOML.

    """
    file, values = "", dict[str, object]()
    for given in texts:
        if "=" in given and not Path(given).is_file():
            values |= _assignment(given)
        elif file:
            raise ConfigError(f"{CONFIG}: {file} and {given} are two files; name one")
        else:
            file = given
    refuse_unknown(SettingsLayer(CONFIG, "", values))
    return file, values


def _assignment(given: str) -> dict[str, object]:
    """`KEY=VALUE` as a dictionary of one key."""
    name, _, value = (part.strip() for part in given.partition("="))
    try:
        return _toml(CONFIG, given)
    except ConfigError:
        if not value or value[0] in "[{\"'" or not name:
            raise ConfigError(f"{CONFIG}: {given!r} is not KEY=VALUE in TOML{_wanted(name)}") from None
    return _toml(CONFIG, f"{name} = {json.dumps(value, ensure_ascii=False)}")


def _wanted(name: str) -> str:
    """What the key takes, where there is one of the name."""
    key = _BY_NAME.get(name.partition(".")[0])
    return f"; {key.name} is {SETTING_KINDS[key.kind].words}" if key else ""


def refuse_unknown(layer: SettingsLayer) -> None:
    """Raise ConfigError for a key that does not exist."""
    allowed = [key.name for key in KEYS]
    for name in layer.values:
        if name not in allowed:
            raise ConfigError(f"{layer.origin}: unknown key {name!r}{did_you_mean(name, allowed)}")


def absolute(path: str) -> Path:
    """The path from the root, without `..`, symbolic links left as they are."""
    return Path(os.path.normpath(Path(path).absolute()))


# Configuration: the command line laid over the file, checked and resolved into Settings.


COMMAND_LINE = "command line"
CONFIG = "--config"
"""Origin of what `--config KEY=VALUE` gives."""
ARGUMENTS = "arguments"
_BY_NAME = {key.name: key for key in KEYS}


class Configuration:
    """The settings of every file of one run; configuration files are searched and read once per folder."""

    def __init__(self, *, config: str = "", isolated: bool = False, options: SettingsLayer | None = None) -> None:
        """`config` names the file instead of searching; `isolated` takes none; `options` is the command line."""
        self._named = config
        self._isolated = isolated
        self._options = options
        self._resolved: dict[tuple[Path, Format, str], Settings] = {}

    def settings_for(self, path: str) -> Settings:
        """The settings a file is linted with; ConfigError where its configuration is wrong."""
        folder, form = absolute(path).parent, format_of(path)
        image = file_of(path) if is_image(file_of(path)) else ""
        if (folder, form, image) not in self._resolved:
            self._resolved[folder, form, image] = self._resolve(folder, form, image)
        return self._resolved[folder, form, image]

    def _resolve(self, folder: Path, form: Format, image: str) -> Settings:
        path = None if self._isolated else Path(self._named) if self._named else nearest(folder)
        layers = tuple(layer for layer in (read(path) if path else None, self._options) if layer)
        return resolve_layers((*firmware_layers(layers, image), *layers), form)


def make_settings(path: str = "", /, **values: Unpack[SettingValues]) -> Settings:
    """Settings from keyword values as a file would give them (`targets=["cortex-m4"]`); no file is read.

    They are for the model at `path`, whose format decides who runs it where no runtime is named. Raises ConfigError.
    """
    return settings_of(path, {**values})


def settings_of(path: str, values: Mapping[str, object]) -> Settings:
    """The same from a dictionary, whose keys are checked here alone."""
    layer = SettingsLayer(ARGUMENTS, str(Path.cwd()), {name.replace("_", "-"): value for name, value in values.items()})
    refuse_unknown(layer)
    image = file_of(path) if is_image(file_of(path)) else ""
    return resolve_layers((*firmware_layers((layer,), image), layer), format_of(path))


def firmware_layers(layers: tuple[SettingsLayer, ...], image: str) -> tuple[SettingsLayer, ...]:
    """What firmware says, below what people say: the image that a model is in, or that the layers name.

    Raises ConfigError where it is named and cannot be read.
    """
    named = next((layer for layer in reversed(layers) if layer.values.get("firmware")), None)
    path = image
    if named and not image:
        path = str(_checked(_BY_NAME["firmware"], named.values["firmware"], named.origin_of("firmware"), named.root))
    if not path:
        return ()
    from onnxlint_cmsis.images.held_models import newest_build
    from onnxlint_cmsis.images.image import ImageError
    from onnxlint_cmsis.images.settings import build_settings

    try:
        build = newest_build(path)
    except ImageError as error:
        if image:
            return ()  # linting the image says so
        origin = _key_at(named.origin_of("firmware"), _BY_NAME["firmware"]) if named else ""
        raise ConfigError(f"{origin}: {path}: {error}") from None
    told = build_settings(build)
    return (SettingsLayer(build.path, "", told.values, releases=told.releases),)


def resolve_layers(layers: tuple[SettingsLayer, ...], form: Format = ONNX) -> Settings:
    """Defaults with the layers over them in order; ConfigError names the layer and key that is wrong.

    They are for files of the format `form`, which decides who runs them where no runtime is named.
    """
    raw: dict[str, object] = {key.name: key.default for key in KEYS}
    value: dict[str, Any] = {key.name: _checked(key, key.default, "default", "") for key in KEYS}
    origins = {key.name: "default" for key in KEYS}
    for layer in layers:
        for forgotten in [other for name in layer.values for other in _BY_NAME[name].forgets]:
            raw[forgotten], value[forgotten], origins[forgotten] = [], (), "default"
        for name, given in layer.values.items():
            origin = layer.origin_of(name)
            checked = _checked(_BY_NAME[name], given, origin, layer.root)
            joined = _BY_NAME[name].extends and origins[name] != "default"
            value[name] = _joined(value[name], checked) if joined else checked
            raw[name] = _joined(raw[name], given) if joined else given
            origins[name] = f"{origins[name]}, {origin}" if joined else origin
    try:
        runtime = runtime_for(value["runtime"], form)
    except ValueError as error:
        raise ConfigError(f"{_key_at(origins['runtime'], _BY_NAME['runtime'])}: {error}") from None
    if runtime.release and origins["release"] == "default":
        value["release"] = raw["release"] = runtime.release
        origins["release"] = runtime.label
    _apply_api(raw, value, origins, runtime)
    value["runtime"] = runtime._replace(brings=origins["release"] == runtime.label)
    if value["board"] and origins["targets"] == "default":
        raw["targets"] = value["targets"] = [board.cpu for board in value["board"].values()]
        origins["targets"] = origins["board"]
    origin = origins["targets"]
    try:
        releases = _releases(layers, origins["release"]) or (value["release"],)
        parsed = [parse_target(text, name, value["compiler"]) for text in value["targets"] for name in releases]
    except ValueError as error:
        raise ConfigError(f"{_key_at(origin, _BY_NAME['targets'])}: {error}") from None
    specialized, fused = value["float-build"] == "default", value["float-contract"] == "fast"
    built = (target._replace(specialized=specialized, fused=fused) for target in parsed)
    value["targets"] = tuple(dict.fromkeys(built))
    _check_devices(value, origins)
    named = {_BY_NAME[name].attribute: held for name, held in value.items()}
    own = (COMMAND_LINE, ARGUMENTS)
    file = next((layer.origin for layer in layers if layer.origin not in own and layer.root), "")
    return Settings(**named, file=file, origins=origins, raw=raw)


def _releases(layers: tuple[SettingsLayer, ...], origin: str) -> tuple[str, ...]:
    """Releases that the firmware can be of which the release is taken from; none where people say it."""
    return next((layer.releases for layer in layers if layer.releases and layer.origin == origin), ())


def _apply_api(raw: dict[str, object], value: dict[str, Any], origins: dict[str, str], runtime: Runtime) -> None:
    """Release and data type of the API where they are not set; ConfigError for what is of another API."""
    family, said, origin = family_named(value["api"]), origins["api"], _key_at(origins["api"], _BY_NAME["api"])
    if family is INTEGER and value["assume"] in FLOAT.types:
        family, said = FLOAT, origins["assume"]
    if family is LEGACY and runtime.name != DIRECT.name:
        raise ConfigError(
            f"{origin}: no runtime calls the {family.api} functions; {runtime.name} calls the {INTEGER.api} ones"
        )
    for name, meant in (("release", family.release), ("assume", family.types[0])) if family is not INTEGER else ():
        if origins[name] == "default":
            value[name] = raw[name] = meant
            origins[name] = said
    if value["assume"] not in family.types:
        origin = _key_at(origins["assume"], _BY_NAME["assume"])
        raise ConfigError(
            f"{origin}: {value['assume']} is of another API; allowed with {family.api}: {', '.join(family.types)}"
        )
    if family is FLOAT and runtime.name != DIRECT.name:
        return  # no runtime calls these functions, whatever library it brings
    try:
        family.refuse_without(value["release"])
    except ValueError as error:
        raise ConfigError(f"{_key_at(origins['release'], _BY_NAME['release'])}: {error}") from None


def _joined(old: Any, new: Any) -> Any:
    """Two tables or two lists as one; the newer wins."""
    return old | new if isinstance(old, dict) else old + new


def _checked(key: Key, given: object, origin: str, root: str) -> object:
    """One value as Settings holds it; ConfigError names the place and the fault."""
    try:
        return setting_of(key, given, Place(origin, root))
    except ValueError as error:
        raise ConfigError(f"{_key_at(origin, key)}: {error}") from None


def _key_at(origin: str, key: Key) -> str:
    """The option, or the file and the key."""
    return key.option if origin == COMMAND_LINE and key.option else f"{origin}: {key.name}"


def _check_devices(value: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    """ConfigError for memory, a clock or a board of a CPU that is no target, and for a board with another CPU.

    A file may hold figures for more CPUs than the command line asks about.
    """
    cpus = [target.cpu for target in value["targets"]]
    bare = [cpu.partition("+no")[0] for cpu in cpus]
    for name in ("ram", "flash", "stack", "board", "clock", "weights-in", "arena-in"):
        if origins[name] not in (COMMAND_LINE, CONFIG, origins["targets"]):
            continue
        origin = _key_at(origins[name], _BY_NAME[name])
        for cpu in value[name]:
            if cpu != EVERY_TARGET and cpu not in cpus:
                raise ConfigError(f"{origin}: {cpu} is not among the targets, {', '.join(cpus)}")
        for cpu, board in value[name].items() if name == "board" else ():
            wrong = [listed for listed in bare if (cpu in (EVERY_TARGET, listed)) and listed != board.cpu]
            if wrong:
                raise ConfigError(f"{origin}: {board.name} has a {board.cpu}, and a target is {wrong[0]}")
