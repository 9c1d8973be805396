#!/bin/sh
# Builds the wheel and the source distribution of HEAD, looks into both, installs the wheel in a fresh virtual environment
# and runs it there, outside the project.
# Usage: [PYTHON=python3.12] sh scripts/check_package.sh [FOLDER]     FOLDER takes the two files; default .cache/dist
set -eu
cd "$(dirname "$0")/.."
mkdir -p "${1:-.cache/dist}"
dist=$(cd "${1:-.cache/dist}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-python3}
unset PYTHONPATH

# From what is committed: a tree that was worked in has build products, which setuptools would pack.
mkdir "$work/source"
git -c safe.directory="$PWD" archive HEAD | tar -x -C "$work/source"
cp -R "$work/source" "$work/tree" # building writes into the other
"$python" -m venv "$work/tools"
"$work/tools/bin/python" -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'twine>=6'
rm -f "$dist"/onnxlint_cmsis-*
"$work/tools/bin/python" -m build --outdir "$dist" "$work/source" >"$work/build.log" 2>&1 || {
    cat "$work/build.log" >&2
    exit 1
}
"$work/tools/bin/twine" check --strict "$dist"/onnxlint_cmsis-*
"$python" scripts/package_contents.py "$work/tree" "$dist"/onnxlint_cmsis-*.whl "$dist"/onnxlint_cmsis-*.tar.gz

"$python" -m venv "$work/fresh"
fresh=$work/fresh/bin
"$fresh/python" -m pip install --quiet --disable-pip-version-check "$dist"/onnxlint_cmsis-*.whl
"$fresh/python" -m pip check
"$fresh/python" "$work/tree/examples/odd_widths.py" "$work/model.onnx"
cd "$work" # the project is not to be found from here
"$fresh/onnxlint-cmsis" --version
"$fresh/onnxlint-cmsis" --isolated --target cortex-m55 --exit-zero --output-format concise model.onnx
"$fresh/onnxlint-cmsis" layers --target cortex-m55 model.onnx
"$fresh/python" -m firmware_check --help >/dev/null
"$fresh/python" - <<'PYTHON'
from onnxlint_cmsis import fix, layers, lint

assert lint("model.onnx").findings
assert layers("model.onnx").rows
fixed = fix("model.onnx", write=True, targets=["cortex-m55"])
assert fixed.written and fixed.proof.equal, fixed
print(f"fixed: {fixed.bytes.before} -> {fixed.bytes.after} bytes")
PYTHON
