"""The configuration of a run: the command line laid over the file, checked and resolved into Settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxlint_cmsis.cmsis_nn.apis import FLOAT, INTEGER, LEGACY, api_named
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.config.converted import ValueSource
from onnxlint_cmsis.config.file_reading import (
    CONFIG,
    KEY_BY_NAME,
    ConfigError,
    SettingsLayer,
    absolute,
    nearest,
    read,
    refuse_unknown,
)
from onnxlint_cmsis.config.keys import COMMAND_LINE, EVERY_TARGET, Key
from onnxlint_cmsis.config.kinds import setting_of
from onnxlint_cmsis.config.settings import KEYS, Settings
from onnxlint_cmsis.formats.format import ONNX, Format, file_of, format_of, is_image
from onnxlint_cmsis.ground.errors import wrong_type
from onnxlint_cmsis.runtimes.runtime import DIRECT, Runtime, runtime_for

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from onnxlint_cmsis.config.given import SettingValues


ARGUMENTS = "arguments"


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

    They are for the model at `path`, whose format decides who runs it where no runtime is named. Raises ConfigError,
    and TypeError for a path that is no text.
    """
    if not isinstance(path, str):
        raise wrong_type("the path of a model is a text", path)
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
        path = str(_checked(KEY_BY_NAME["firmware"], named.values["firmware"], named.origin_of("firmware"), named.root))
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
        origin = _key_at(named.origin_of("firmware"), KEY_BY_NAME["firmware"]) if named else ""
        raise ConfigError(f"{origin}: {path}: {error}") from None
    told = build_settings(build, _named_cpus(layers))
    board = any("board" in layer.values for layer in layers)  # a board that people name has RAM and flash
    values = {key: value for key, value in told.values.items() if not (board and key in ("ram", "flash"))}
    return (SettingsLayer(build.path, "", values, releases=told.judged),)


def _named_cpus(layers: tuple[SettingsLayer, ...]) -> list[str]:
    """The CPUs that people name; none where nobody does, or a name is wrong, which is told when it is resolved."""
    layer = next((layer for layer in reversed(layers) if "targets" in layer.values), None)
    if layer is None:
        return []
    try:
        texts: Any = _checked(KEY_BY_NAME["targets"], layer.values["targets"], "", layer.root)
        return [parse_target(text).cpu for text in texts]
    except (ConfigError, ValueError):
        return []


def resolve_layers(layers: tuple[SettingsLayer, ...], form: Format = ONNX) -> Settings:
    """Defaults with the layers over them in order; ConfigError names the layer and key that is wrong.

    They are for files of the format `form`, which decides who runs them where no runtime is named.
    """
    raw: dict[str, object] = {key.name: key.default for key in KEYS}
    value: dict[str, Any] = {key.name: _checked(key, key.default, "default", "") for key in KEYS}
    origins = {key.name: "default" for key in KEYS}
    for layer in layers:
        for forgotten in [other for name in layer.values for other in KEY_BY_NAME[name].forgets]:
            raw[forgotten], value[forgotten], origins[forgotten] = [], (), "default"
        for name, given in layer.values.items():
            origin = layer.origin_of(name)
            checked = _checked(KEY_BY_NAME[name], given, origin, layer.root)
            joined = KEY_BY_NAME[name].extends and origins[name] != "default"
            value[name] = _overlaid(value[name], checked) if joined else checked
            raw[name] = _overlaid(raw[name], given) if joined else given
            origins[name] = f"{origins[name]}, {origin}" if joined else origin
    try:
        runtime = runtime_for(value["runtime"], form)
    except ValueError as error:
        raise ConfigError(f"{_key_at(origins['runtime'], KEY_BY_NAME['runtime'])}: {error}") from None
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
        raise ConfigError(f"{_key_at(origin, KEY_BY_NAME['targets'])}: {error}") from None
    specialized, fused = value["float-build"] == "default", value["float-contract"] == "fast"
    built = (target._replace(specialized=specialized, fused=fused) for target in parsed)
    value["targets"] = tuple(dict.fromkeys(built))
    _check_devices(value, origins)
    named = {KEY_BY_NAME[name].attribute: held for name, held in value.items()}
    own = (COMMAND_LINE, ARGUMENTS)
    file = next((layer.origin for layer in layers if layer.origin not in own and layer.root), "")
    return Settings(**named, file=file, origins=origins, raw=raw)


def _releases(layers: tuple[SettingsLayer, ...], origin: str) -> tuple[str, ...]:
    """Releases that the firmware can be of which the release is taken from; none where people say it."""
    return next((layer.releases for layer in layers if layer.releases and layer.origin == origin), ())


def _apply_api(raw: dict[str, object], value: dict[str, Any], origins: dict[str, str], runtime: Runtime) -> None:
    """Release and data type of the API where they are not set; ConfigError for what is of another API."""
    api, said, origin = api_named(value["api"]), origins["api"], _key_at(origins["api"], KEY_BY_NAME["api"])
    if api is INTEGER and value["assume"] in FLOAT.types:
        api, said = FLOAT, origins["assume"]
    if api is LEGACY and runtime.name != DIRECT.name:
        raise ConfigError(
            f"{origin}: no runtime calls the {api.name} functions; {runtime.name} calls the {INTEGER.name} ones"
        )
    for name, meant in (("release", api.release), ("assume", api.types[0])) if api is not INTEGER else ():
        if origins[name] == "default":
            value[name] = raw[name] = meant
            origins[name] = said
    if value["assume"] not in api.types:
        origin = _key_at(origins["assume"], KEY_BY_NAME["assume"])
        raise ConfigError(
            f"{origin}: {value['assume']} is of another API; allowed with {api.name}: {', '.join(api.types)}"
        )
    if api is FLOAT and runtime.name != DIRECT.name:
        return  # no runtime calls these functions, whatever library it brings
    try:
        api.refuse_without(value["release"])
    except ValueError as error:
        raise ConfigError(f"{_key_at(origins['release'], KEY_BY_NAME['release'])}: {error}") from None


def _overlaid(old: Any, new: Any) -> Any:
    """Two tables or two lists as one; the newer wins."""
    return old | new if isinstance(old, dict) else old + new


def _checked(key: Key, given: object, origin: str, root: str) -> object:
    """One value as Settings holds it; ConfigError names the place and the fault."""
    try:
        return setting_of(key, given, ValueSource(origin, root))
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
        origin = _key_at(origins[name], KEY_BY_NAME[name])
        for cpu in value[name]:
            if cpu != EVERY_TARGET and cpu not in cpus:
                raise ConfigError(f"{origin}: {cpu} is not among the targets, {', '.join(cpus)}")
        for cpu, board in value[name].items() if name == "board" else ():
            wrong = [listed for listed in bare if (cpu in (EVERY_TARGET, listed)) and listed != board.cpu]
            if wrong:
                raise ConfigError(f"{origin}: {board.name} has a {board.cpu}, and a target is {wrong[0]}")
