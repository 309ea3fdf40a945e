#!/bin/sh
# Make the virtual environment FOLDER with the pinned packages of LOCK and jask itself.
#
# usage: scripts/set_up.sh FOLDER LOCK [LOCK ...]
set -eu

folder=$1
shift

works() {
    "$folder/bin/python" -c '
import sys
sys.exit(0 if sys.version_info >= (3, 12) else 1)
' >/dev/null 2>&1 && "$folder/bin/python" -m pip --version >/dev/null 2>&1
}

if ! works; then
    python=$(sh "$(dirname "$0")/find_python.sh")
    echo "set-up: making $folder with $python"
    rm -rf "$folder"
    "$python" -m venv "$folder"
fi
for lock in "$@"; do
    echo "set-up: installing $lock"
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$lock"
done
# hatchling and editables are in the lock: nothing is fetched here.
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
    --no-deps --no-build-isolation --editable .
