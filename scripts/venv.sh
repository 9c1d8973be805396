# Sourced by the other scripts: puts a virtual environment with this project into .venv and activates it.
# Usage: extra=test; . scripts/venv.sh     extra names optional-dependency groups of pyproject.toml, or is empty.
# `apart`, NAME==VERSION or empty, is installed beside into .cache/NAME, without what it needs; then it is its process.
# A variable, because a POSIX shell passes no arguments to a sourced file.
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    echo "onnxlint-cmsis needs Python 3.10 or newer; set PYTHON to one" >&2
    exit 2
fi
if [ ! -x .venv/bin/python ]; then
    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y python3-venv >/dev/null
        else
            echo "this Python has no venv: install it first (Debian: apt-get install python3-venv)" >&2
            exit 2
        fi
    fi
    "$python" -m venv .venv
fi
. .venv/bin/activate
if [ -n "${apart:-}" ]; then
    python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target ".cache/${apart%%=*}" \
        "$apart" &
    apart=$!
fi
python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".${extra:+[$extra]}"
# A shell may forbid writing them later, and start-up takes twice as long without. On all cores, which pip does not use.
python -m compileall -q -j 0 onnxlint_cmsis firmware_check scripts lab tests/support
python -m compileall -q -j 0 -x '[/\\]tests?[/\\]' "$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" || true
