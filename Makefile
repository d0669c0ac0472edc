# make demo       a matrix product step by step beside numpy, and every primitive before and after
# make test       the tests
# make campaign   random programs: all samples of the tests, and new ones (MINUTES each, from SEED);
#                 each file of tests by itself, and all in a random order
# make check      lint, types, layering, notebooks, tests
# make notebooks  execute the notebooks of tutorials/ and compare what they put out
# make docs       the documentation, as pages in build/site
# make dist       wheel and sdist in dist/, tried in an environment of their own
# make tutorials  execute the notebooks of tutorials/ and store what they put out
# make bench      the time of lowering, beside TVM 0.19's (EXTRAS=dev,peers installs that)
# make format     ruff's formatting and fixes
#
# Needs Python >= 3.11 and nothing else; PYTHON=... names one, EXTRAS=... installs more.

EXTRAS ?= dev
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed-$(EXTRAS)
ALONE := $(VENV)/installed-alone
DOCS := $(VENV)/installed-docs
DIST := $(VENV)/installed-dist
PYTEST_FLAGS ?= -n auto --dist worksteal
MINUTES ?= 10
SEED ?= 1
# A user's program for each storey; type checkers read them as they read a user's.
USERS = $(wildcard tests/packaging/user_*.py)
# Without tests (5), as where what they need is not installed, a file passes.
ONE_FILE = $(BIN)/python -m pytest -q --no-header -p no:cacheprovider "$$0" || [ $$? -eq 5 ]
export PYTHON
# The tests start hundreds of processes: te_sched is compiled to bytecode once.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help demo test campaign check lint types layering notebooks format tutorials docs dist bench clean

help:
	@sed -n '/^# make/s/^# //p' Makefile

# Made once; renewed when the dependencies may have changed.
$(VENV)/installed-%: pyproject.toml scripts/venv.sh
	@sh scripts/venv.sh $(VENV) $*
	@touch $@

demo: $(ALONE)
	@$(BIN)/python -m tutorials.demo

test: $(STAMP)
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

# Stops after three times MINUTES: the samples, hostile programs, programs beside TVM (if installed).
campaign: $(STAMP)
	TE_SCHED_CAMPAIGN=$(MINUTES) $(BIN)/python -m pytest $(PYTEST_FLAGS) \
		$$(grep -rl --include='test_*.py' '^from tests.\(sampling\|golden.smaller\) import' tests)
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED) --jobs 2
	if $(BIN)/python -c 'import tvm' 2>/dev/null; then \
		$(BIN)/python -m tests.peer --minutes $(MINUTES) --seed $(SEED) --count 1000000; fi
	find tests -name 'test_*.py' | sort | xargs -n 1 -P 2 sh -c '$(ONE_FILE)'
	$(BIN)/python -m pytest $(PYTEST_FLAGS) --random-order $(SEED)

check: lint types layering notebooks test

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy
	$(BIN)/mypy --strict $(USERS)
	$(BIN)/pyright --pythonpath $(BIN)/python $(USERS)

layering: $(STAMP)
	$(BIN)/lint-imports --no-logo --no-cache

notebooks: $(STAMP)
	$(BIN)/python -m scripts.tutorials --check

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

tutorials: $(STAMP)
	$(BIN)/python -m scripts.tutorials

docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The pages are in build/site; open build/site/index.html"

dist: $(DIST)
	sh scripts/check_wheel.sh $(BIN)/python

bench: $(STAMP)
	$(BIN)/python -m benchmarks.lowering

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
