"""Configuration: the command line laid over the file, checked and resolved into Settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onnxlint_cmsis.cmsis_nn.releases import normalise_release, parse_target
from onnxlint_cmsis.config import kinds
from onnxlint_cmsis.config.files import ConfigError, Layer, absolute, nearest, read, refuse_unknown
from onnxlint_cmsis.config.globs import Glob
from onnxlint_cmsis.config.keys import KEYS, Key
from onnxlint_cmsis.config.settings import Settings, Suppression
from onnxlint_cmsis.types import Level

COMMAND_LINE = "command line"
ARGUMENTS = "arguments"
_BY_NAME = {key.name: key for key in KEYS}
_AFRESH = {
    "select": ("ignore", "extend-select", "extend-ignore"),
    "fixable": ("unfixable", "extend-fixable"),
}
"""Keys that fall back to their defaults where a layer has the first."""


class Configuration:
    """The settings of every file of one run; configuration files are searched and read once per folder."""

    def __init__(self, *, config: str = "", isolated: bool = False, options: Layer | None = None) -> None:
        """`config` names the file instead of searching; `isolated` takes none; `options` is the command line."""
        self._named = config
        self._isolated = isolated
        self._options = options
        self._by_folder: dict[Path, Settings] = {}

    def settings_for(self, path: str) -> Settings:
        """The settings a file is linted with; ConfigError where its configuration is wrong."""
        folder = absolute(path).parent
        if folder not in self._by_folder:
            self._by_folder[folder] = self._resolve(folder)
        return self._by_folder[folder]

    def _resolve(self, folder: Path) -> Settings:
        found = None if self._isolated else Path(self._named) if self._named else nearest(folder)
        layers = (read(found) if found else None, self._options)
        return resolve_layers(tuple(layer for layer in layers if layer))


def make_settings(**values: Any) -> Settings:
    """Settings from keyword values as a file would give them (`targets=["cortex-m4"]`); no file is read."""
    layer = Layer(ARGUMENTS, str(Path.cwd()), {name.replace("_", "-"): value for name, value in values.items()})
    refuse_unknown(layer)
    return resolve_layers((layer,))


def resolve_layers(layers: tuple[Layer, ...]) -> Settings:
    """Defaults with the layers over them in order; ConfigError names the layer and key that is wrong."""
    raw: dict[str, object] = {key.name: key.default for key in KEYS}
    value: dict[str, Any] = {key.name: _checked(key, key.default, "default", "") for key in KEYS}
    origins = {key.name: "default" for key in KEYS}
    for layer in layers:
        for name in _forgotten(layer):
            raw[name], value[name], origins[name] = [], (), "default"
        for name, given in layer.values.items():
            checked = _checked(_BY_NAME[name], given, layer.origin, layer.root)
            joined = _BY_NAME[name].extends and origins[name] != "default"
            value[name] = _joined(value[name], checked) if joined else checked
            raw[name] = _joined(raw[name], given) if joined else given
            origins[name] = f"{origins[name]}, {layer.origin}" if joined else layer.origin
    return _settings(value, raw, origins, _file(layers))


def _forgotten(layer: Layer) -> list[str]:
    """Keys whose values from earlier layers fall away."""
    return [name for first, others in _AFRESH.items() if first in layer.values for name in others]


def _file(layers: tuple[Layer, ...]) -> str:
    """The configuration file among the layers, empty where there is none."""
    return next((layer.origin for layer in layers if layer.origin not in (COMMAND_LINE, ARGUMENTS)), "")


def _joined(old: Any, new: Any) -> Any:
    """Two tables or two lists as one; the newer wins."""
    return old | new if isinstance(old, dict) else old + new


def _checked(key: Key, given: object, origin: str, root: str) -> object:
    """One value checked, its patterns and paths tied to the folder they are relative to."""
    try:
        value: Any = kinds.check(key, given)
    except ValueError as error:
        raise ConfigError(f"{_place(origin, key)}: {error}") from None
    if key.kind == "globs":
        return tuple(Glob(pattern, root) for pattern in value)
    if key.kind == "glob-codes":
        return tuple((Glob(pattern, root), codes) for pattern, codes in value.items())
    if key.kind == "path":
        return str(Path(root, value)) if value else ""
    if key.kind == "suppressions":
        return tuple(_suppression(entry, root, f"{origin}: suppress[{i}]") for i, entry in enumerate(value))
    return value


def _place(origin: str, key: Key) -> str:
    """The option, or the file and the key."""
    return key.option if origin == COMMAND_LINE else f"{origin}: {key.name}"


def _suppression(entry: dict[str, str], root: str, origin: str) -> Suppression:
    path = Glob(entry["path"], root) if "path" in entry else None
    rest = {name: text for name, text in entry.items() if name != "path"}
    return Suppression(path=path, origin=origin, **rest)


def _settings(value: dict[str, Any], raw: dict[str, object], origins: dict[str, str], file: str) -> Settings:
    """The frozen settings from checked values; ConfigError for a release or CPU that does not exist."""
    try:
        release = normalise_release(value["release"])
    except ValueError as error:
        raise ConfigError(f"{_place(origins['release'], _BY_NAME['release'])}: {error}") from None
    try:
        targets = tuple(dict.fromkeys(parse_target(text, release, value["compiler"]) for text in value["targets"]))
    except ValueError as error:
        raise ConfigError(f"{_place(origins['targets'], _BY_NAME['targets'])}: {error}") from None
    return Settings(
        targets=targets,
        release=release,
        compiler=value["compiler"],
        assume=value["assume"],
        one_channel=value["one-channel"],
        input_shapes=value["input-shapes"],
        select=value["select"] + value["extend-select"],
        ignore=value["ignore"] + value["extend-ignore"],
        fixable=value["fixable"] + value["extend-fixable"],
        unfixable=value["unfixable"],
        per_file_ignores=value["per-file-ignores"],
        levels={code: Level[level.upper()] for code, level in value["levels"].items()},
        fail_on=Level[value["fail-on"].upper()],
        min_level=Level[value["min-level"].upper()],
        exclude=value["exclude"],
        suppress=value["suppress"],
        baseline=value["baseline"],
        output_format=value["output-format"],
        fix_policy=value["fix-policy"],
        align=value["align"],
        min_gain=value["min-gain"],
        fix_budget_bytes=value["fix-budget-bytes"],
        unsafe_fixes=value["unsafe-fixes"],
        weights=value["weights"],
        size_checks_limit=value["size-checks-limit"],
        size_checks_layers=value["size-checks-layers"],
        file=file,
        origins=origins,
        raw=raw,
    )
