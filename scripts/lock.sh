#!/bin/sh
# Write requirements/*.txt: exact pins of everything, transitive packages included.
#
# 1. A fresh environment gets jask with its extra `demo`, the group `dev` and the build
#    backend; what pip freezes is dev.txt.
# 2. The group `conformance` is added; what is new is conformance.txt.
# 3. The group `bench` (jask's peers) is added; what is not in dev.txt is bench.txt, which
#    may so be installed with or without conformance.txt.
set -eu

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python=$(sh scripts/find_python.sh)
"$python" -m venv "$scratch/venv"
pip="$scratch/venv/bin/python -m pip --disable-pip-version-check"
$pip install --quiet --upgrade 'pip>=25.1'

freeze() {
    $pip freeze --all --exclude jask --exclude pip --exclude setuptools | LC_ALL=C sort
}

note="# Made by scripts/lock.sh from pyproject.toml; change that, then: make lock"

$pip install --quiet hatchling editables
$pip install --quiet --no-build-isolation '.[demo]' --group dev
freeze >"$scratch/dev"
{ echo "$note"; cat "$scratch/dev"; } >requirements/dev.txt

$pip install --quiet --group conformance -c "$scratch/dev"
freeze >"$scratch/more"
{ echo "$note"; grep -vxFf "$scratch/dev" "$scratch/more"; } >requirements/conformance.txt

$pip install --quiet --group bench -c "$scratch/more"
freeze >"$scratch/all"
{ echo "$note"; grep -vxFf "$scratch/dev" "$scratch/all"; } >requirements/bench.txt
