#!/bin/sh
# Runs what a change needs before it is shown: lint, types, and the tests that need neither firmware nor other tools.
# `scripts/test.sh` runs everything. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
extra=test,tflite
. scripts/venv.sh
ruff check .
ruff format --check .
mypy
python -m pytest -n 2 --dist worksteal --ignore tests/firmware_check --ignore tests/docs --ignore tests/fleet \
    --ignore tests/output/html --ignore tests/test_digest.py "$@"
