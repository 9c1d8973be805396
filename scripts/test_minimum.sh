#!/bin/sh
# Runs the tests on the lowest versions that pyproject.toml allows, of Python and of every package it names.
# The firmware check needs a newer ONNX Runtime than the linter, so its tests and those of the docs come second.
# Usage: [PYTHON=/path/to/that/python] sh scripts/test_minimum.sh [options of pytest]
set -eu
cd "$(dirname "$0")/.."
lowest=$(sed -n 's/^requires-python = ">=\([0-9.]*\)"$/\1/p' pyproject.toml)
python=${PYTHON:-python$lowest}
if ! "$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$lowest')"; then
    echo "these tests are for Python $lowest; set PYTHON to it" >&2
    exit 2
fi
venv=.cache/minimum
"$python" -m venv --clear "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check uv
install() {
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --resolution lowest-direct --editable "$1"
    "$venv/bin/uv" pip list --quiet --python "$venv/bin/python"
}
install '.[test,tflite]'
status=0
"$venv/bin/python" -m pytest -n 2 --dist worksteal --ignore tests/firmware_check --ignore tests/docs "$@" tests || status=1
install '.[test,tflite,firmware]'
"$venv/bin/python" -m pytest -n 2 --dist worksteal "$@" tests/firmware_check tests/docs || status=1
exit $status
