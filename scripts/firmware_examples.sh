#!/bin/sh
# Fixes the example models for one core and one CMSIS-NN and checks each before against after on firmware.
# Usage: sh scripts/firmware_examples.sh CORE RELEASE CMSIS_NN_FOLDER OUTPUT_FOLDER
# Whatever the fix changes has to be strictly better: some layer with a better kernel or fewer instructions, none worse.
set -eu
core=$1 release=$2 library=$3 out=$4
cd "$(dirname "$0")/.."
python scripts/example_models.py "$out/before"
python scripts/example_models.py "$out/after"
worst=0
for before in "$out"/before/*.onnx; do
    name=$(basename "$before" .onnx)
    after=$out/after/$name.onnx
    onnxlint-cmsis --isolated --fix-only --target "$core" --release "$release" "$after"
    set -- "$before" --target "$core" --cmsis-nn "$library" \
        --json "$out/$name.json" --markdown "$out/$name.md" --sarif "$out/$name.sarif" --plot "$out/$name.svg"
    if cmp -s "$before" "$after"; then
        echo "$name: nothing to fix for $core"
    else
        set -- "$@" --against "$after" --strict
    fi
    python -m firmware_check "$@" || worst=1
done
exit $worst
