# Every target sets up .venv first if need be. `make` alone prints them.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Files whose tests multiply matrices by BLAS.
BLAS_TESTS := basis descent digits evaluation exponentiated pdhg working_set problem race recovery similarities subgradient svm sweep

.DEFAULT_GOAL := help
.PHONY: help reproduce-all test test-kernel lint docs clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

reproduce-all: .venv/run.stamp ## run every experiment on embedded data; results/ holds what comes out
	$(BIN)/snakemake reproduce-all

test: .venv/dev.stamp ## run the tests
	$(PYTEST)

# Products round differently on other processors. OPENBLAS_CORETYPE names a processor whose kernel OpenBLAS shall run:
# here Haswell, or Prescott where this machine runs that of Haswell by itself.
test-kernel: .venv/dev.stamp ## run the tests that multiply matrices as another processor would
	own=$$($(BIN)/python -c 'import numpy, threadpoolctl; print([one.get("architecture") for one in threadpoolctl.threadpool_info()])'); \
	case "$$own" in *Haswell* | *Zen*) other=Prescott ;; *) other=Haswell ;; esac; \
	OPENBLAS_CORETYPE=$$other $(PYTEST) $(BLAS_TESTS:%=tests/test_%.py)

lint: .venv/dev.stamp ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/mypy

docs: .venv/docs.stamp ## build the site, docs/_build/html/index.html, without a network
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto -d docs/_build/doctrees docs docs/_build/html

.venv/docs.stamp: .venv/run.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .[docs]
	touch $@

.venv/run.stamp: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jointsparse needs Python 3.11 or newer, got %s: make PYTHON=python3.11" % sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .[pipeline]
	touch $@

.venv/dev.stamp: .venv/run.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .[dev]
	touch $@

clean: ## remove .venv and what Snakemake remembers; results/ stay, and missing files alone are made again
	rm -rf .venv .snakemake
