"""What holds for every test and for what tests start."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from onnxlint_cmsis.fixers.proof.onnx_runtime import NO_TELEMETRY
from support.draws import AT_A_PUSH
from support.goldens import Told
from support.nightly import without_sibling

os.environ.setdefault(NO_TELEMETRY, "1")
settings.register_profile("any-machine", deadline=None)  # a slow or busy one must not fail a test
settings.register_profile("same-draws", deadline=None, derandomize=True)  # a change fails for what it changed alone
settings.register_profile("push", deadline=None, derandomize=True, max_examples=AT_A_PUSH)
settings.load_profile("any-machine")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """No test is left out at a push unless another stands for it."""
    if wrong := without_sibling(metafunc):
        raise pytest.UsageError(f"{metafunc.definition.nodeid}: {wrong}")


@pytest.fixture(scope="session", autouse=True)
def wide_terminal() -> Iterator[None]:
    """Lines of any length, whatever terminal the tests run in; tests of narrow ones set COLUMNS themselves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "1000")
        yield


@pytest.fixture
def told(request: pytest.FixtureRequest) -> Told:
    """Compares what people are told with the golden texts of the test's module."""
    folder = str(request.getfixturevalue("tmp_path")) if "tmp_path" in request.fixturenames else ""
    return Told(request.node.path.stem, request.node.name, folder)
