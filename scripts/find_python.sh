#!/bin/sh
# Print a Python that can run jask (3.12 or newer), newest first; fail clearly if none.
#
# 1. What PATH offers under its versioned names, then plain python3.
# 2. Every pyenv version, newest first.
# A candidate counts only when it starts, is new enough and can make environments
# (a pyenv shim may exist and refuse; Debian may leave ensurepip out).
set -u

usable() {
    "$1" -c '
import sys
sys.exit(0 if sys.version_info >= (3, 12) else 1)
' >/dev/null 2>&1 && "$1" -c 'import ensurepip, venv' >/dev/null 2>&1
}

real() {
    "$1" -c 'import sys; print(sys.executable)'
}

for name in ${PYTHON:-} python3.14 python3.13 python3.12 python3; do
    found=$(command -v "$name" 2>/dev/null) || continue
    if usable "$found"; then
        real "$found"
        exit 0
    fi
done

versions="${PYENV_ROOT:-$HOME/.pyenv}/versions"
for folder in $(ls -1 "$versions" 2>/dev/null | grep -E '^3\.[0-9]+\.[0-9]+$' |
    sort -t . -k 2,2nr -k 3,3nr); do
    if usable "$versions/$folder/bin/python"; then
        real "$versions/$folder/bin/python"
        exit 0
    fi
done

cat >&2 <<'END'
jask needs Python 3.12 or newer (with venv and ensurepip), and none was found: neither
python3.14, python3.13, python3.12 nor python3 on PATH will do, nor a pyenv version.
Install one, or name it: make test PYTHON=/path/to/python3.13
END
exit 1
