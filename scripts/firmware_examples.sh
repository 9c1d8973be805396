#!/bin/sh
# Fixes the example models for one core and one CMSIS-NN and checks each before against after on firmware.
# Usage: sh scripts/firmware_examples.sh CORE RELEASE CMSIS_NN_FOLDER OUTPUT_FOLDER
# What the fix changes has to be strictly better: some layer with a better kernel or fewer instructions, none worse. Where
# it steps around a defect of the release, the model before has to be wrong on the device, and the one after right.
set -eu
core=$1 release=$2 library=$3 out=$4
cd "$(dirname "$0")/.."
python scripts/example_models.py "$out/before"
python scripts/example_models.py "$out/after"
worst=0

lint() { onnxlint-cmsis --isolated --target "$core" --release "$release" "$@"; }
run() { python -m firmware_check "$@" --target "$core" --cmsis-nn "$library"; }
check() {
    run "$@" --json "$out/$name.json" --markdown "$out/$name.md" --plot "$out/$name.svg" --sarif "$out/$name.sarif" \
        --sarif-category "firmware-$release-$core-$name" || worst=1
}
repaired() {
    echo "$name: a defect of CMSIS-NN on $core, which the fix steps around"
    code=0
    run "$before" || code=$?
    if [ "$code" -ne 1 ]; then
        echo "$name: no defect was seen (exit code $code)" >&2
        worst=1
    fi
    check "$after"
}

for before in "$out"/before/*.onnx; do
    name=$(basename "$before" .onnx)
    after=$out/after/$name.onnx
    lint --fix-only "$after"
    if cmp -s "$before" "$after"; then
        echo "$name: nothing to fix for $core"
        check "$before"
    elif lint --quiet --select CNN3 "$before"; then
        check "$before" --against "$after" --strict
    else
        repaired
    fi
done
exit $worst
