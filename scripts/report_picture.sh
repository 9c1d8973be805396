#!/bin/sh
# Draws docs/report.png: the report of a small ResNet, in headless Chromium.
# Usage: sh scripts/report_picture.sh RESNET8.onnx
set -eu
docs=$(cd "$(dirname "$0")/../docs" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$1" "$folder/resnet8.onnx"
cd "$folder"
onnxlint-cmsis report --isolated resnet8.onnx -o report.html --target cortex-m4 --target cortex-m55
chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" \
    --blink-settings=preferredColorScheme=1 --window-size=1000,1180 --screenshot="$docs/report.png" "file://$folder/report.html"
python - "$docs/report.png" <<'END'
"""A palette that has every colour of a kernel takes a third of the bytes."""
import sys

from PIL import Image

Image.open(sys.argv[1]).convert("RGB").quantize(128, Image.Quantize.MAXCOVERAGE).save(sys.argv[1], optimize=True)
END
