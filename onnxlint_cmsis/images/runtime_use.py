"""The runtime within an image: which, how old at least, the operators that it registers, whose kernels it links."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from onnxlint_cmsis.ground.named_tuples import NamedTuple
from onnxlint_cmsis.images.image import Image, Section
from onnxlint_cmsis.images.references import Spans, references

RESOLVER = re.compile(r"_ZTVN6tflite22MicroMutableOpResolverILj(\d+)EEE$")
"""Table of virtual functions of `tflite::MicroMutableOpResolver<N>`."""
REGISTER = re.compile(r"_ZN6tflite(?:3ops5micro)?(\d+)(Register_[A-Z0-9_]+)")
"""`tflite::Register_CONV_2D()`, with the length of the name in front; before 2022 in `tflite::ops::micro`."""
VARIANTS = re.compile(r"(?:_(?:INT4|INT8|INT16|INT8REF|INT32|FLOAT32|REF))+$")
"""Ends of registrations that take fewer types than the operator has."""
KERNEL_FILE = re.compile(rb"[\w./\\+-]*micro[/\\]kernels[/\\](?:\w+[/\\])?\w+\.(?:cc|cpp)")
SINCE = (
    ("SetAlternateProfiler", "2024-12-10"),
    ("MicroInterpreterGraph", "2023-09-11"),
    ("TFLMRegistration", "2023-05-18"),
)
"""Names in TensorFlow Lite Micro with the day on which each came."""
TEXTS = (
    (b"Failed to get registration from op code", "tflm"),
    (b"Didn't find op for builtin opcode", "tflm"),
    (b"Failed to resize buffer. Requested: ", "tflm"),
)
"""Messages that a runtime prints."""
PREFIXES = (("_ZN10executorch", "executorch"), ("_ZN5torch8executor", "executorch"), ("tvmgen_", "tvm"))
"""Beginnings of names of runtimes beside TensorFlow Lite Micro."""
MOST_TEXT = 2**26
"""Bytes that are searched for messages."""
MOST_FILES = 500
MOST_TEXTS = 100_000
"""Names of sources of a section that are looked at."""
LONGEST_FILE = 400
"""Bytes of the name of a source."""

TELLING_FILES = ("conv.cc", "depthwise_conv.cc", "fully_connected.cc", "softmax.cc", "svdf.cc", "pooling.cc")
"""Sources of reference kernels in whose place CMSIS-NN has others."""
SHARED_FILES = ("conv_common.cc", "depthwise_conv_common.cc")
"""Sources for both, beside which kernels of CMSIS-NN leave the name of their own in every revision."""
REFERENCE_FUNCTIONS = {
    "ConvPrepare": "CONV_2D",
    "DepthwiseConvPrepare": "DEPTHWISE_CONV_2D",
    "FullyConnectedPrepare": "FULLY_CONNECTED",
    "AddPrepare": "ADD",
}
"""Functions that reference kernels register and kernels of CMSIS-NN never call, with the operator.

So in tflite-micro from 2021-04-09 to 2026-08-20. As their address is taken, link-time optimization keeps them where an
application registers the kernel, and drops them elsewhere.
"""
REFERENCE_SYMBOL = re.compile(rf"_ZN6tflite(?:12_GLOBAL__N_1)?\d{{2}}({'|'.join(REFERENCE_FUNCTIONS)})E")
"""Those functions in a file, with a suffix of the linker or without."""
LIBRARY_FUNCTIONS = {
    "CONV_2D": ("arm_convolve",),
    "DEPTHWISE_CONV_2D": ("arm_depthwise_conv",),
    "FULLY_CONNECTED": ("arm_fully_connected", "arm_vector_sum", "arm_convolve_1x1"),
    "AVERAGE_POOL_2D": ("arm_avgpool",),
    "MAX_POOL_2D": ("arm_max_pool",),
    "SOFTMAX": ("arm_softmax",),
    "SVDF": ("arm_svdf",),
    "ADD": ("arm_elementwise_add",),
    "MUL": ("arm_elementwise_mul",),
}
"""Operators whose kernels call CMSIS-NN in every revision, with the beginnings of what they call."""


class RuntimeUse(NamedTuple):
    """A runtime in an image."""

    name: str
    """`tflm`, `executorch` or `tvm`."""
    evidence: str
    """What tells it, for people."""
    by_symbols: bool
    """Whether names tell it, and not texts alone."""
    since: str = ""
    """Day since which TensorFlow Lite Micro has what is in the image; empty where nothing tells."""
    registered: tuple[str, ...] | None = None
    """Operators that the application registers; None where the image does not tell."""
    linked: tuple[str, ...] = ()
    """Operators whose registration is in the image, called or not."""
    resolvers: tuple[int, ...] = ()
    """Operators that resolvers have room for, the most first; two that have room for as many are one here."""
    every: bool = False
    """Whether it registers all operators there are (AllOpsResolver)."""
    whole_program: bool = False
    """Whether the linker optimized the whole program, so that functions and calls are gone."""
    kernel_files: tuple[str, ...] = ()
    """Sources of kernels whose names are in the image."""
    reference_functions: tuple[str, ...] = ()
    """Functions in the image that reference kernels alone register: `ConvPrepare`."""

    @property
    def kernels(self) -> str:
        """`cmsis_nn` or `reference`, as far as names of sources tell; empty where they do not."""
        return "" if not self.kernel_file else "cmsis_nn" if "cmsis_nn" in self.kernel_file else "reference"

    @property
    def kernel_file(self) -> str:
        """The name of a source that tells it; empty where none does."""
        names = {re.split(r"kernels[/\\]", file, maxsplit=1)[-1]: file for file in self.kernel_files}
        library = next((file for name, file in names.items() if name.startswith("cmsis_nn")), "")
        return library or next((names[name] for name in (*TELLING_FILES, *SHARED_FILES) if name in names), "")


def runtime_use(image: Image, held: Iterable[tuple[int, int]] = ()) -> RuntimeUse | None:
    """The runtime in an image; None where nothing tells of one. `held` are addresses and sizes of its models."""
    files = tuple(dict.fromkeys(_kernel_files(image)))
    if any(name.startswith("_ZN6tflite") for name in image.names):
        return _tflm(image, held)._replace(kernel_files=files)
    for name in image.names:
        for prefix, runtime in PREFIXES:
            if name.startswith(prefix):
                return RuntimeUse(runtime, f"symbol {name}", True)
    for section in _texts(image):
        for text, runtime in TEXTS:
            if bytes(section.data).find(text) >= 0:
                return RuntimeUse(runtime, f"the text '{text.decode()}'", False, kernel_files=files)
    return RuntimeUse("tflm", f"the text '{files[0]}'", False, kernel_files=files) if files else None


def _texts(image: Image) -> Iterator[Section]:
    left = MOST_TEXT
    for section in image.sections:
        if section.loaded and len(section.data) <= left:
            left -= len(section.data)
            yield section


def _kernel_files(image: Image) -> Iterator[str]:
    count = 0
    for section in _texts(image):
        for end in islice(re.finditer(rb"\.(?:cc|cpp)\x00", section.data), MOST_TEXTS):
            text = bytes(section.data[max(0, end.start() - LONGEST_FILE) : end.end() - 1])
            file = KERNEL_FILE.search(text[text.rfind(b"\0") + 1 :])
            if file and count < MOST_FILES:
                count += 1
                yield file[0].decode("ascii", "replace").replace("\\", "/")


def _tflm(image: Image, held: Iterable[tuple[int, int]]) -> RuntimeUse:
    operators = {name: operator for name in image.names if (operator := registered_operator(name))}
    rooms = {int(match[1]) for name in image.names if (match := RESOLVER.match(name))}
    days = [day for name, day in SINCE if any(name in symbol for symbol in image.names)]
    linked = tuple(sorted({*operators.values()}))
    called: tuple[str, ...] | None = None
    whole_program = _whole_program(image)
    if operators and image.linked and not whole_program:
        places = {
            image.functions[name].address: operator for name, operator in operators.items() if name in image.functions
        }
        called = tuple(sorted(set(_called(image, places, held))))
    every = any("AllOpsResolver" in name for name in image.names)
    evidence = "symbols of tflite::"
    resolvers = tuple(sorted(rooms, reverse=True))
    functions = tuple(sorted({match[1] for name in image.functions if (match := REFERENCE_SYMBOL.match(name))}))
    since = max(days, default="")
    return RuntimeUse(
        "tflm", evidence, True, since, called, linked, resolvers, every, whole_program, reference_functions=functions
    )


def _whole_program(image: Image) -> bool:
    """Tell if the linker optimized the whole program: functions are then seen in one file alone, and calls are gone."""
    seen = [symbol.local for name, symbol in image.functions.items() if name.startswith("_ZN6tflite")]
    return sum(seen) * 2 > len(seen)


def registered_operator(symbol: str) -> str:
    """`CONV_2D` for `tflite::Register_CONV_2D_INT8()`; empty for other functions."""
    match = REGISTER.match(symbol)
    if not match:
        return ""
    length = int(match[1])
    return VARIANTS.sub("", match[2][:length].removeprefix("Register_")) if length <= len(match[2]) else ""


def _called(image: Image, places: dict[int, str], held: Iterable[tuple[int, int]]) -> Iterator[str]:
    """Operators whose registration some code calls, or has the address of; `places` has each by its address.

    A function that makes a registration may take its beginning from another, and numbers of a model are no addresses.
    """
    passed = Spans([*image.registrations, *held])
    for section in image.sections:
        if section.loaded and section.data:
            for address, target in references(section, places):
                if not passed.hold(address):
                    yield places[target]
