"""Configuration: finding, reading, checking, layering; the schema says the same."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import jsonschema
import pytest

from onnxlint_cmsis.checks.fix_actions import ROUTE
from onnxlint_cmsis.checks.routing_checks import RoutingCheck
from onnxlint_cmsis.checks.rule_registry import codes_of, every_check
from onnxlint_cmsis.cli.main import main
from onnxlint_cmsis.cmsis_nn.releases import DEFAULT_RELEASE
from onnxlint_cmsis.cmsis_nn.targets import parse_target
from onnxlint_cmsis.config.boards import KNOWN_BOARDS
from onnxlint_cmsis.config.byte_sizes import byte_size
from onnxlint_cmsis.config.file_reading import OWN_FILE, ConfigError, SettingsLayer, configured_by
from onnxlint_cmsis.config.files import Configuration, make_settings
from onnxlint_cmsis.config.keys import GROUPS
from onnxlint_cmsis.config.path_patterns import Glob
from onnxlint_cmsis.config.selection import enabled, fixable, level_of
from onnxlint_cmsis.config.settings import KEYS, Settings
from onnxlint_cmsis.ground.types import Isa, Level
from support.goldens import check_golden
from support.paths import ROOT
from support.tree_copy import TreeCopy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GOOD = """
targets = ["cortex-m4", "cortex-m55+nomve"]
api = "current"
runtime = "direct"
release = "6.0.0"
firmware = ""
compiler = "armclang"
assume = "s16"
float-weights = "packed"
float-scratch = "none"
float-build = "no-specialization"
float-contract = "fast"
one-channel = "depthwise"
select = ["CNN1", "wrong-result"]
ignore = ["CNN102"]
extend-select = ["CNN301"]
extend-ignore = ["CNN111"]
fixable = ["CNN2"]
unfixable = ["dead-channels"]
extend-fixable = ["CNN302"]
fail-on = "error"
min-level = "warning"
respect-gitignore = false
exclude = ["old", "third/*.onnx"]
baseline = "base.json"
output-format = "concise"
fix-policy = "align"
align = 8
min-gain = 2.5
most-instructions = 1.5
fix-budget-bytes = 1000
unsafe-fixes = true
weights = false
size-checks-limit = "unlimited"
size-checks-layers = 40
cmsis-nn-build = "SIZE"
ram = "192K"
clock = "120MHz"
weights-in = "mram"
arena-in = 20
code-cache = "16K"
timing = "board.json"
board = {cortex-m4 = "nucleo-l4r5zi"}
[stack]
"*" = "4K"

[flash]
"*" = 1048576
cortex-m4 = "512kB"
[levels]
CNN103 = "note"
[per-file-ignores]
"demo/*" = ["CNN1"]
[input-shapes]
x = [1, "?", 96]
[[suppress]]
rule = "CNN302"
path = "a/*.onnx"
node = "Conv_1"
reason = "known"
"""

BAD = [
    ("target = 'm4'", "unknown key 'target'; did you mean targets?"),
    ("targets = 'm4'", "targets: 'm4' is not a list of texts"),
    ("targets = []", "targets: the list is empty"),
    ("targets = [4]", "targets: [4] is not a list of texts"),
    ("targets = ['z80']", "targets: CPU 'z80' is not known; allowed: cortex-m0"),
    ("runtime = 'glow'", "runtime: runtime 'glow' is not known; allowed: direct, tflm, executorch, tvm"),
    ("runtime = 'tflm@2022-03'", "runtime: TensorFlow Lite Micro '2022-03' has not been reviewed; reviewed: "),
    ("runtime = 'tvm@2025-02'", "runtime: TVM has had no CMSIS-NN since 2024-12-10"),
    ("release = '1.0'", "release: CMSIS-NN release '1.0' is not known; allowed: cmsis5-5.6.0"),
    ("release = 7", "release: 7 is not a text"),
    ("fail-on = 'bad'", "fail-on: 'bad' is not one of note, warning, error"),
    ("fail-on = 1", "fail-on: 1 is not one of note"),
    ("fail-on = ['note']", "fail-on: ['note'] is not one of note"),
    ("select = ['CNN9']", "select: no rule has the code, prefix or name 'CNN9'"),
    ("fixable = ['CNN9']", "fixable: no rule has the code, prefix or name 'CNN9'"),
    ("unfixable = 'CNN1'", "unfixable: 'CNN1' is not a list of rule codes"),
    ("select = 'CNN1'", "select: 'CNN1' is not a list of rule codes"),
    ("levels = ['CNN1']", "levels: ['CNN1'] is not a table of rule = level"),
    ("levels = {CNN1 = 'off'}", "levels: 'off' is not one of note"),
    ("per-file-ignores = {a = 'CNN1'}", "per-file-ignores: 'CNN1' is not a table of pattern"),
    ("input-shapes = {x = '1,2'}", "input-shapes: shape '1,2' of 'x' is not a list of sizes"),
    ("input-shapes = {x = [1, true]}", "a whole number from 1 up"),
    ("suppress = {rule = 'CNN1'}", "suppress: {'rule': 'CNN1'} is not a list of tables"),
    ("suppress = ['CNN1']", "suppress: 'CNN1' is not a list of tables"),
    ("suppress = [{path = 'x'}]", "has no rule"),
    ("suppress = [{rule = 'CNN1', line = 'x'}]", "unknown key 'line' in an entry; allowed are rule, path, node"),
    ("suppress = [{rule = 1}]", "suppress: 1 is not a text"),
    ("exclude = 'x'", "exclude: 'x' is not a list of patterns"),
    ("align = 0", "align: 0 is not a whole number from 1 to 64"),
    ("min-gain = true", "min-gain: True is not a number from 0 to 100"),
    ("fix-budget-bytes = 1.5", "fix-budget-bytes: 1.5 is not a whole number of bytes from 0 up, or 'unlimited'"),
    ("unsafe-fixes = 'yes'", "unsafe-fixes: 'yes' is not true or false"),
    ("ram = '256k'", "ram: '256k' has a unit that is not known; did you mean 256K (262,144 bytes) or 256kB"),
    ("ram = '12 parsecs'", "units are K, KiB, M, MiB, kB, MB"),
    ("flash = 0", "flash: 0 is not between 1 byte and 4,294,967,296 bytes"),
    ("flash = true", "flash: True is not a number of bytes, with K, KiB, M, MiB, kB or MB behind it or not"),
    ("ram = {cortex-m4 = 'all'}", "ram: 'all' is not a number of bytes"),
    ("board = 'nucleo-l4r5z'", "board: board 'nucleo-l4r5z' is not known; did you mean nucleo-l4r5zi"),
    ("targets = ['m55']\nboard = 'rpi-pico'", "board: rpi-pico has a cortex-m0+, and a target is cortex-m55"),
    ("targets = ['m55']\nram = {cortex-m4 = '1M'}", "ram: cortex-m4 is not among the targets, cortex-m55"),
    ("cmsis-nn-build = 'FAST'", "cmsis-nn-build: 'FAST' is not one of SPEED, SIZE, NONE"),
    ("a = ", "not valid TOML"),
]


def settings(folder: Path, text: str, **options) -> Settings:
    (folder / "onnxlint-cmsis.toml").write_text(text)
    layer = SettingsLayer("command line", str(folder), options["options"]) if "options" in options else None
    return Configuration(options=layer).settings_for(str(folder / "m.onnx"))


def test_every_key_is_read(tmp_path):
    configured = settings(tmp_path, GOOD)
    assert [(t.cpu, t.isa, t.release, t.compiler) for t in configured.targets] == [
        ("cortex-m4", Isa.DSP, "6.0.0", "armclang"),
        ("cortex-m55+nomve", Isa.DSP, "6.0.0", "armclang"),
    ]
    root = str(tmp_path)
    assert configured.one_channel == "depthwise"
    assert (configured.float_weights, configured.float_scratch, configured.float_build) == (
        "packed",
        "none",
        "no-specialization",
    )
    assert not any(target.specialized for target in configured.targets)
    assert all(target.fused for target in configured.targets)
    assert (configured.release, configured.compiler, configured.assume, configured.output_format) == (
        "6.0.0",
        "armclang",
        "s16",
        "concise",
    )
    assert (configured.select, configured.extend_select) == (("CNN1", "CNN302"), ("CNN301",))
    assert (configured.fix_policy, configured.align, configured.min_gain, configured.fix_budget_bytes) == (
        "align",
        8,
        2.5,
        1000,
    )
    assert (configured.unsafe_fixes, configured.weights) == (True, False)
    assert (configured.size_checks_limit, configured.size_checks_layers) == (None, 40)
    assert (configured.cmsis_nn_build, configured.ram) == ("SIZE", {"*": 196608})
    assert configured.stack == {"*": 4096}
    assert configured.flash == {"*": 1048576, "cortex-m4": 512000}
    assert [board.name for board in configured.board.values()] == ["nucleo-l4r5zi"]
    assert configured.ignore + configured.extend_ignore == ("CNN102", "CNN111")
    assert (configured.fixable + configured.extend_fixable, configured.unfixable) == (("CNN2", "CNN302"), ("CNN202",))
    assert (configured.fail_on, configured.min_level) == (Level.ERROR, Level.WARNING)
    assert configured.exclude == (Glob("old", root), Glob("third/*.onnx", root))
    assert not configured.respect_gitignore
    assert configured.baseline == str(tmp_path / "base.json")
    assert configured.levels == {"CNN103": Level.NOTE}
    assert configured.per_file_ignores == ((Glob("demo/*", root), ("CNN1",)),)
    assert configured.input_shapes == {"x": (1, None, 96)}
    (entry,) = configured.suppress
    assert (entry.rule, entry.path, entry.node, entry.reason) == ("CNN302", Glob("a/*.onnx", root), "Conv_1", "known")
    assert set(tomllib.loads(GOOD)) == {key.name for key in KEYS}, "the example must use every key"


@pytest.mark.parametrize(("text", "says"), BAD)
def test_what_is_wrong_names_file_key_and_allowed(tmp_path, text, says):
    with pytest.raises(ConfigError) as caught:
        settings(tmp_path, text)
    assert str(tmp_path / "onnxlint-cmsis.toml") in str(caught.value)
    assert says in str(caught.value)


@pytest.fixture
def schema(capsys):
    """What the command prints."""
    assert main(["config", "--schema"]) == 0
    return json.loads(capsys.readouterr().out)


def test_schema_agrees_with_the_checks(schema):
    validator = jsonschema.Draft7Validator(schema)
    validator.check_schema(schema)
    assert not list(validator.iter_errors(tomllib.loads(GOOD)))
    unseen = ("CNN9", "@", "z80", "'1.0'", "= \n", "a = ", "rpi-pico", "'1M'")
    for text, _ in BAD:
        if not any(word in text for word in unseen):
            assert list(validator.iter_errors(tomllib.loads(text))), text


def test_schema_is_ready_for_schemastore(schema):
    """Its rules for a schema (CONTRIBUTING.md there), and the entry of the catalogue in docs/contributing.md."""
    published = schema
    assert published["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert (published["type"], published["additionalProperties"]) == ("object", False)
    assert all(field["description"] for field in published["properties"].values())
    page = (ROOT / "docs" / "contributing.md").read_text(encoding="utf-8")
    entry = json.loads(page.partition("```json\n")[2].partition("```")[0])
    assert entry == {
        "name": "onnxlint-cmsis",
        "description": published["description"],
        "fileMatch": [OWN_FILE],
        "url": published["$id"],
    }
    assert "schema" not in entry["description"].lower()


def test_schema_defaults_are_valid_and_complete(schema):
    validator = jsonschema.Draft7Validator(schema)
    defaults = {key.name: key.default for key in KEYS}
    assert not list(validator.iter_errors(defaults))


def fits(value, annotation):
    """Whether a value has the type that a field of Settings states."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return any(fits(value, argument) for argument in arguments)
    if origin is dict:
        return isinstance(value, dict) and all(
            fits(k, arguments[0]) and fits(v, arguments[1]) for k, v in value.items()
        )
    if origin is tuple and arguments[-1] is Ellipsis:
        return type(value) is tuple and all(fits(item, arguments[0]) for item in value)
    if origin is tuple:
        return type(value) is tuple and len(value) == len(arguments) and all(map(fits, value, arguments))
    return type(value) is annotation


def test_every_key_makes_what_its_field_states(tmp_path):
    """The kind of a row and the type beside it say the same, of the default and of a value from a file."""
    types = get_type_hints(Settings)
    for configured in (make_settings(), settings(tmp_path, GOOD)):
        wrong = {key.name for key in KEYS if not fits(getattr(configured, key.attribute), types[key.attribute])}
        assert not wrong
    assert {key.attribute for key in KEYS} == set(types) - {"file", "origins", "raw"}


NEW_ROW = """    top_speed: int = setting("multiple", 3, "How fast it may become. 64 at most.")
    house: str = setting(
        "choice", "red", "Colour of the house. It has no windows.",
        allowed=("red", "blue"), option="--house", group=OUTPUT,
    )
    file: str = ""
"""
TRY_IT = """
from onnxlint_cmsis.config.files import Configuration
print(Configuration().settings_for("m.onnx").top_speed)
"""


def test_a_setting_is_added_by_one_row(tmp_path, told):
    """On a copy of the tree: file, command line, --show-settings, schema and docs know it; an option is in --help."""
    copy = TreeCopy(tmp_path, ["scripts", "docs", "tests/data"])
    copy.replace("onnxlint_cmsis/config/settings.py", '    file: str = ""\n', NEW_ROW)
    (tmp_path / "onnxlint-cmsis.toml").write_text("top-speed = 5\n")
    program = ("-m", "onnxlint_cmsis")
    assert copy.python("-c", TRY_IT).stdout == "5\n"
    told(copy.python(*program, "--help").stdout)
    shown = copy.python(*program, "--config", "top-speed=7", "--house", "blue", "--show-settings").stdout
    assert "top-speed = 7  # --config\n" in shown
    told(shown)
    (tmp_path / "onnxlint-cmsis.toml").write_text("top-speed = 'fast'\n")
    told(copy.python(*program, "--show-settings").stderr)
    (tmp_path / "onnxlint-cmsis.toml").write_text("")
    described = json.loads(copy.python(*program, "config", "--schema").stdout)["properties"]["top-speed"]
    assert described["default"] == 3
    told(described["description"])
    assert copy.python("scripts/make_docs.py").returncode == 0
    page = (tmp_path / "docs" / "config.md").read_text(encoding="utf-8")
    told(page)
    told(page)


HELP_LINES = 94
"""Lines that the help of linting may have in 80 columns."""


def helped(capsys, monkeypatch, *argv):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*argv, "--help"]) == 0
    return capsys.readouterr().out


def test_the_help_of_linting_is_short(capsys, monkeypatch):
    text = helped(capsys, monkeypatch, "lint")
    check_golden("screens/help", text)
    assert len(text.splitlines()) <= HELP_LINES
    assert re.findall(r"^(\S.*):$", text, re.MULTILINE) == [*GROUPS, "Commands"]


def test_every_option_takes_two_lines_at_most(capsys, monkeypatch):
    commands = re.findall(r"^  ([a-z-]+)  +\S", helped(capsys, monkeypatch).partition("\nCommands:\n")[2], re.M)
    assert "shape" in commands
    for command in commands:
        text = helped(capsys, monkeypatch, command)
        assert max(map(len, text.splitlines())) <= 80
        for group in re.findall(rf"^(?:{'|'.join(GROUPS)}):\n(.*?)(?:\n\n|\Z)", text, re.M | re.S):
            for option in re.split(r"\n(?=  \S)", group):
                assert len(option.splitlines()) <= 2, option


CONFIGURED = [
    ("align=8", 8), ("align = 8", 8), ("weights-in=tcm", "tcm"), ("arena-in='tcm'", "tcm"), ("release=7.0.0", "7.0.0"),
    ("stack=2K", "2K"), ("stack=2048", 2048), ("stack={cortex-m4='1K'}", {"cortex-m4": "1K"}),
    ("stack.cortex-m4=1K", {"cortex-m4": "1K"}), ("weights=false", False), ("baseline=a=b.json", "a=b.json"),
    ('per-file-ignores={"old/*"=["CNN1"]}', {"old/*": ["CNN1"]}), ("min-gain=1.5", 1.5),
    ("most-instructions=2%", "2%"),
    ('input-shapes.x=[1,"?",3]', {"x": [1, "?", 3]}), ("baseline=naïve \\ name", "naïve \\ name"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), CONFIGURED)
def test_config_takes_a_key_with_a_value_of_toml_or_a_bare_word(text, value):
    assert configured_by([text]) == ("", {re.split("[=. ]", text)[0]: value})


def test_every_key_can_be_set_by_config(tmp_path, monkeypatch, capsys):
    """The example that has every key, key by key, with nothing read from a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / OWN_FILE).write_text(GOOD)
    assert main(["--show-settings", "m.onnx"]) == 0
    lines = [line.rpartition("  # ")[0] for line in capsys.readouterr().out.splitlines()]
    argv = [word for text in lines for word in ("--config", text)]
    assert main(["--isolated", *argv, "--show-settings", "m.onnx"]) == 0
    shown = capsys.readouterr().out
    assert tomllib.loads(shown) == tomllib.loads(GOOD)
    assert all(line.endswith("  # --config") for line in shown.splitlines())


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["fix-polcy=align"], "--config: unknown key 'fix-polcy'; did you mean fix-policy?"),
        (["align=x"], "--config: align: 'x' is not a whole number from 1 to 64"),
        (["align=[8"], "--config: 'align=[8' is not KEY=VALUE in TOML; align is a whole number from 1 to 64"),
        (["targets=cortex-m4"], "--config: targets: 'cortex-m4' is not a list of texts"),
        (
            ["targets=[cortex-m4]"],
            "--config: 'targets=[cortex-m4]' is not KEY=VALUE in TOML; targets is a list of texts",
        ),
        (["=8"], "--config: '=8' is not KEY=VALUE in TOML"),
        (["align="], "--config: 'align=' is not KEY=VALUE in TOML; align is a whole number"),
        (["a b=8"], "--config: not valid TOML"),
        (["targets=['z80']"], "--config: targets: CPU 'z80' is not known"),
        (["stack={cortex-m7='1K'}", "targets=['m4']"], "--config: stack: cortex-m7 is not among the targets"),
        (["one.toml", "two.toml"], "--config: one.toml and two.toml are two files; name one"),
        (["align"], "align: the configuration cannot be read"),
    ],
)
def test_config_says_what_is_wrong(tmp_path, monkeypatch, capsys, argv, says):
    monkeypatch.chdir(tmp_path)
    assert main([*(word for text in argv for word in ("--config", text)), "m.onnx"]) == 2
    assert says in capsys.readouterr().err


def test_an_option_goes_before_config_and_config_before_the_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.toml").write_text("align = 2\nmin-gain = 2\nignore = ['CNN1']\nrelease = '6.0.0'\n")
    argv = ["--config", "a=b.toml", "--config", "align=4", "--config", "align=8", "--config", "release=5.0.0"]
    more = ["--release", "7.0.0", "--select", "CNN2", "--config", "ignore=['CNN201']"]
    assert main([*argv, *more, "--show-settings", "m.onnx"]) == 0
    shown = capsys.readouterr().out
    for line in ("align = 8  # --config", "min-gain = 2  # a=b.toml", 'release = "7.0.0"  # command line',
                 'ignore = ["CNN201"]  # --config'):  # fmt: skip
        assert f"{line}\n" in shown


@pytest.mark.parametrize("command", ["layers", "memory"])
def test_other_commands_take_config(tmp_path, monkeypatch, capsys, command, told):
    monkeypatch.chdir(tmp_path)
    assert main([command, "--config", "cmsis-nn-build=FAST", "m.tflite"]) == 2
    told(capsys.readouterr().err)


def test_a_board_stands_for_cpu_ram_and_flash():
    settings = make_settings(board="NUCLEO_L4R5ZI", ram="96K")
    (target,) = settings.targets
    assert (target.cpu, *settings.room(target)) == ("cortex-m4", 98304, 2097152, "nucleo-l4r5zi", None)


def test_figures_of_a_file_that_no_target_has_are_left_alone(tmp_path):
    text = "board = {cortex-m4 = 'nano-33-ble', 'cortex-m0+' = 'rpi-pico'}\nram = {cortex-m55 = '1M'}\n"
    configured = settings(tmp_path, text, options={"targets": ["m0+", "m55", "m7"]})
    rooms = [tuple(configured.room(target)[:2]) for target in configured.targets]
    assert rooms == [(270336, 2097152), (1048576, None), (None, None)]


def test_every_board_is_a_cpu_that_is_known_and_names_its_page():
    assert KNOWN_BOARDS
    for board in KNOWN_BOARDS:
        assert parse_target(board.cpu).cpu == board.cpu
        assert board.source.startswith("https://")
        assert 0 < board.ram < board.flash


@pytest.mark.parametrize(
    ("text", "size"),
    [("64", 64), ("256K", 262144), ("256 KiB", 262144), ("1.5M", 1572864), ("2kB", 2000), ("1MB", 10**6), (7, 7)],
)
def test_sizes_of_memory(text, size):
    assert byte_size(text) == size


def test_defaults():
    settings = make_settings()
    assert [target.cpu for target in settings.targets] == ["cortex-m0", "cortex-m4", "cortex-m55"]
    assert {target.release for target in settings.targets} == {DEFAULT_RELEASE}
    assert (settings.select, settings.ignore, settings.fail_on, settings.min_level) == (
        ("CNN",),
        (),
        Level.WARNING,
        None,
    )


def test_the_nearest_file_holds_and_the_own_file_goes_first(tmp_path):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.onnxlint-cmsis]\nassume = 's4'\n")
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    assert Configuration().settings_for(str(deep / "m.onnx")).assume == "s4"
    (tmp_path / "onnxlint-cmsis.toml").write_text("assume = 's16'\n")
    assert Configuration().settings_for(str(deep / "m.onnx")).assume == "s16"
    (deep / "pyproject.toml").write_text("[tool.onnxlint-cmsis]\n")
    settings = Configuration().settings_for(str(deep / "m.onnx"))
    assert (settings.assume, settings.file) == ("s8", str(deep / "pyproject.toml"))


def test_a_path_with_dots_finds_the_file_of_its_own_folder(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / "onnxlint-cmsis.toml").write_text("assume = 's4'")
    monkeypatch.chdir(tmp_path / "here")
    assert Configuration().settings_for("../there/m.onnx").assume == "s8"
    assert Configuration().settings_for("m.onnx").assume == "s4"


@pytest.mark.parametrize("content", [b"\xff = 1", b'release = "7.0.0\xff"'])
def test_a_file_that_is_not_utf8_is_refused(tmp_path, content):
    (tmp_path / "onnxlint-cmsis.toml").write_bytes(content)
    with pytest.raises(ConfigError, match="not UTF-8"):
        Configuration().settings_for(str(tmp_path / "m.onnx"))


def test_a_section_that_is_no_table_is_refused(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool]\nonnxlint-cmsis = 1\n")
    with pytest.raises(ConfigError, match="onnxlint-cmsis is not a table"):
        Configuration().settings_for(str(tmp_path / "m.onnx"))


def test_named_and_isolated(tmp_path):
    (tmp_path / "onnxlint-cmsis.toml").write_text("assume = 's4'")
    (tmp_path / "other.toml").write_text("assume = 's16'")
    model = str(tmp_path / "m.onnx")
    assert Configuration(config=str(tmp_path / "other.toml")).settings_for(model).assume == "s16"
    assert Configuration(isolated=True).settings_for(model).assume == "s8"
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    with pytest.raises(ConfigError, match=r"has no \[tool.onnxlint-cmsis\] section"):
        Configuration(config=str(tmp_path / "pyproject.toml")).settings_for(model)


def test_the_command_line_goes_before_the_file(tmp_path):
    given = {"targets": ["m0"], "levels": {"CNN104": "error"}, "extend-ignore": ["CNN302"], "input-shapes": {"y": [2]}}
    configured = settings(tmp_path, GOOD, options=given)
    assert [target.cpu for target in configured.targets] == ["cortex-m0"]
    assert configured.levels == {"CNN103": Level.NOTE, "CNN104": Level.ERROR}
    assert configured.ignore + configured.extend_ignore == ("CNN102", "CNN111", "CNN302")
    assert configured.input_shapes == {"x": (1, None, 96), "y": (2,)}
    assert configured.release == "6.0.0"


def test_select_on_the_command_line_starts_afresh(tmp_path):
    configured = settings(tmp_path, GOOD, options={"select": ["CNN102"]})
    assert (configured.select, configured.ignore) == (("CNN102",), ())


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, {"CNN102", "CNN111", "CNN302"}),
        ({"select": ["CNN1"]}, {"CNN102", "CNN111"}),
        ({"ignore": ["CNN1"]}, {"CNN302"}),
        ({"ignore": ["CNN1"], "extend-select": ["CNN102"]}, {"CNN102", "CNN302"}),
        ({"select": ["CNN1"], "ignore": ["CNN1"]}, set()),
        ({"ignore": ["CNN"], "extend-select": ["CNN302"]}, {"CNN302"}),
        ({"per-file-ignores": {"*.onnx": ["CNN3"]}}, {"CNN102", "CNN111"}),
        ({"per-file-ignores": {"other/*": ["CNN3"]}}, {"CNN102", "CNN111", "CNN302"}),
    ],
)
def test_which_rules_run(values, expected):
    settings = make_settings(**values)
    assert {code for code in ("CNN102", "CNN111", "CNN302") if enabled(code, settings, "m.onnx")} == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, {"CNN102", "CNN201", "CNN202", "CNN301"}),
        ({"fixable": ["CNN2"]}, {"CNN201", "CNN202"}),
        ({"unfixable": ["CNN202"]}, {"CNN102", "CNN201", "CNN301"}),
        ({"unfixable": ["dead-channels"]}, {"CNN102", "CNN201", "CNN301"}),
        ({"fixable": ["CNN202"], "unfixable": ["CNN2"]}, {"CNN202"}),
        ({"fixable": ["CNN2"], "unfixable": ["CNN2"]}, set()),
        ({"fixable": [], "extend-fixable": ["CNN301"]}, {"CNN301"}),
        ({"unfixable": ["CNN"], "extend-fixable": ["CNN301"]}, {"CNN301"}),
        ({"fixable": []}, set()),
        ({"fixable": ["CNN001"]}, set()),
        ({"select": ["CNN3"]}, {"CNN301"}),
        ({"ignore": ["CNN2"], "fixable": ["CNN2"]}, set()),
        ({"per-file-ignores": {"*.onnx": ["CNN3"]}}, {"CNN102", "CNN201", "CNN202"}),
    ],
)
def test_which_findings_a_fix_may_act_on(values, expected):
    settings = make_settings(**values)
    assert fixable(settings, "m.onnx") & {"CNN102", "CNN201", "CNN202", "CNN301"} == expected


def test_fixable_on_the_command_line_starts_afresh_and_unfixable_adds(tmp_path):
    configured = settings(tmp_path, GOOD, options={"fixable": ["CNN3"]})
    assert (configured.fixable, configured.unfixable) == (("CNN3",), ())
    configured = settings(tmp_path, GOOD, options={"unfixable": ["CNN302"]})
    assert (configured.fixable + configured.extend_fixable, configured.unfixable) == (
        ("CNN2", "CNN302"),
        ("CNN202", "CNN302"),
    )
    assert configured.origins["unfixable"] == f"{tmp_path / 'onnxlint-cmsis.toml'}, command line"


def test_the_policy_route_acts_on_the_rules_that_channel_counts_answer():
    missed = [check for check in every_check() if isinstance(check.run, RoutingCheck)]
    assert codes_of(ROUTE) == tuple(check.rule.code for check in missed if check.run.variables)


@pytest.mark.parametrize(
    ("levels", "code", "level", "expected"),
    [
        ({}, "CNN102", Level.WARNING, Level.WARNING),
        ({"CNN1": "note"}, "CNN102", Level.WARNING, Level.NOTE),
        ({"CNN1": "note", "CNN102": "error"}, "CNN102", Level.WARNING, Level.ERROR),
        ({"CNN103": "error"}, "CNN103", Level.NOTE, Level.NOTE),
        ({"CNN102": "error"}, "CNN102", Level.NOTE, Level.ERROR),
        ({"CNN3": "note"}, "CNN302", Level.ERROR, Level.NOTE),
        ({"wrong-result": "warning"}, "CNN302", Level.ERROR, Level.WARNING),
    ],
)
def test_levels(levels, code, level, expected):
    assert level_of(code, level, make_settings(levels=levels)) is expected


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("old", "/r/old/m.onnx", True),
        ("old", "/r/a/old/b/m.onnx", True),
        ("old", "/r/older/m.onnx", False),
        ("*.onnx", "/r/a/m.onnx", True),
        ("m?.onnx", "/r/m1.onnx", True),
        ("a/*.onnx", "/r/a/m.onnx", True),
        ("a/*.onnx", "/r/a/b/m.onnx", False),
        ("a/*.onnx", "/r/b/a/m.onnx", False),
        ("a/**/m.onnx", "/r/a/m.onnx", True),
        ("a/**/m.onnx", "/r/a/b/c/m.onnx", True),
        ("**/m.onnx", "/r/x/m.onnx", True),
        ("a/b", "/r/a/b/c/m.onnx", True),
        ("./a/b", "/r/a/b/m.onnx", True),
        ("old/", "/r/old/m.onnx", True),
        ("/a/m.onnx", "/r/a/m.onnx", True),
        ("a/m.onnx", "/elsewhere/a/m.onnx", False),
        ("*.onnx", "/elsewhere/m.onnx", True),
        ("r", "/r/m.onnx", False),
        ("m[1].onnx", "/r/m[1].onnx", True),
        ("a.b", "/r/aXb", False),
    ],
)
def test_patterns(pattern, path, matches):
    assert Glob(pattern, "/r").matches(path) is matches


@pytest.mark.parametrize(
    ("compiler", "said"),
    [("gcc@x", "'x' is no version; allowed: numbers with points, as gcc@12.2"), ("icc", "compiler 'icc' is not known"),
     ("gcc@", "'' is no version")],
)  # fmt: skip
def test_a_compiler_is_a_name_with_or_without_a_version(compiler, said, tmp_path):
    with pytest.raises(ConfigError, match=re.escape(said)):
        settings(tmp_path, f'compiler = "{compiler}"')
    configured = settings(tmp_path, 'compiler = "gcc@12.2"')
    assert (configured.targets[0].compiler, configured.targets[0].compiler_version) == ("gcc", "12.2")
    assert configured.targets[0].label.endswith(", gcc@12.2")
