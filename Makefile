# Every target sets up what it needs: a Python >= 3.12 is looked for, .venv is made and
# filled from the locks in requirements/, again whenever a lock or pyproject.toml changes.

VENV ?= .venv
PYTHON ?=
export PYTHON

BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
CONFORMANCE_READY := $(VENV)/.conformance-ready
SET_UP := scripts/set_up.sh scripts/find_python.sh pyproject.toml
ARGS ?=

.PHONY: demo test lint style types imports format conformance bench lock clean

demo: $(READY)  ## train and evaluate a classifier on a file larger than its budget
	$(BIN)/python -m jask demo $(ARGS)

test: $(READY)  ## run every test that needs no option; ARGS="--slow --memory" for the rest
	$(BIN)/python -m pytest $(ARGS)

lint: style types imports  ## style, format, types and import contracts

style: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

format: $(READY)  ## put the code into the one format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

conformance: $(CONFORMANCE_READY)  ## run the Array API test suite; ARGS="--only linalg"
	$(BIN)/python conformance/run.py $(ARGS)

bench: $(BENCH_READY)  ## time jask beside its peers; ARGS="--only sum --size 256MB"
	$(BIN)/python benchmarks/run.py $(ARGS)

lock:  ## write the locks anew from pyproject.toml
	sh scripts/lock.sh

clean:  ## remove the environment and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(READY): $(SET_UP) requirements/dev.txt
	sh scripts/set_up.sh $(VENV) requirements/dev.txt
	touch $@

$(BENCH_READY): $(READY) requirements/bench.txt
	sh scripts/set_up.sh $(VENV) requirements/bench.txt
	touch $@

$(CONFORMANCE_READY): $(READY) requirements/conformance.txt
	sh scripts/set_up.sh $(VENV) requirements/conformance.txt
	touch $@
