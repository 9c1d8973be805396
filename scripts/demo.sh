#!/bin/sh
# Lints a real model, from nothing: sets up a virtual environment, takes a voice-activity detector out of a PyPI wheel
# (silero-vad, MIT; only the model is used), and lints it for 576 samples of input. Further arguments go to the linter,
# whose exit code is the script's: 1, since it finds errors.
set -eu
cd "$(dirname "$0")/.."
. scripts/venv.sh
model=silero_vad_16k_op15.onnx
if [ ! -f ".cache/$model" ]; then
    mkdir -p .cache
    python -m pip download --quiet --disable-pip-version-check --no-deps --dest .cache silero-vad==6.2.3
    python -c "import sys, zipfile; open(sys.argv[2], 'wb').write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[3]))" \
        .cache/silero_vad-6.2.3-*.whl ".cache/$model" "silero_vad/data/$model"
fi
exec onnxlint-cmsis --input-shape input=1,576 "$@" ".cache/$model"
