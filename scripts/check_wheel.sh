#!/bin/sh
# Build the wheel and the sdist into dist/, check them, and try the wheel outside of this folder.
#   sh scripts/check_wheel.sh PYTHON      PYTHON has build, twine and mypy (the extra "dist")
set -eu
python=$1
case $python in /*) ;; *) python=$PWD/$python ;; esac
step() { printf '\n== %s\n' "$*"; }

step "Build: the sdist, and the wheel from the sdist"
rm -rf dist
"$python" -m build --outdir dist . | tail -n 1
"$python" -m twine check --strict dist/*
sources=$PWD
wheel=$(echo "$PWD"/dist/*.whl)
sdist=$(echo "$PWD"/dist/*.tar.gz)

outside=$(mktemp -d)
trap 'rm -rf "$outside"' EXIT
cp tests/packaging/user_*.py "$outside"
cd "$outside"
export XDG_CACHE_HOME="$outside/cache" PYTHONPATH=

step "Install the wheel into an empty environment"
"$python" -m venv venv
bin=$outside/venv/bin
"$bin/pip" install -q --disable-pip-version-check "$wheel"
"$bin/te-sched" --version
"$bin/te-sched" doctor

step "A program, and the types of one for each storey under mypy --strict"
"$bin/python" user_program.py
"$python" -m mypy --strict --python-executable "$bin/python" user_*.py

step "The story of a schedule"
"$bin/te-sched" explain "$sources/docs/images/gemm.py" -o report.html
grep -q "<script" report.html

step "The demo of the sdist, with the te_sched of the wheel"
tar xzf "$sdist"
cd te_sched-*
rm -r te_sched
"$bin/python" -m tutorials.demo --size 256 | tail -n 1

step "Wheel and sdist are good: $(basename "$wheel"), $(basename "$sdist")"
