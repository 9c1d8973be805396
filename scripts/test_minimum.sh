#!/bin/sh
# Runs the tests on the lowest versions that pyproject.toml allows, of Python and of every package it names.
# Usage: [PYTHON=/path/to/that/python] sh scripts/test_minimum.sh [arguments of pytest]
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
"$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --resolution lowest-direct --editable '.[test,firmware,tflite]'
"$venv/bin/uv" pip list --quiet --python "$venv/bin/python"
"$venv/bin/python" -m pytest -n 2 --dist worksteal "$@"
