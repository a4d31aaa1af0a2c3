# Every target sets up .venv first if needed. `make` without a target lists the targets.
PYTHON ?= python3
BIN := .venv/bin
# pip would compile every module of every package. Python compiles those that are imported, and keeps the result.
INSTALL := install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt
PIP := $(BIN)/python -m pip $(INSTALL)
unexport PYTHONDONTWRITEBYTECODE
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Tests that run Snakemake or a browser. They take most of the time, and the other tests cover what they compute.
WORKFLOW_TESTS := bad_input browser browser_annotated cluster code walk workflow

# Prints the names of the BLAS kernels that NumPy and SciPy use, such as "Haswell".
KERNELS := $(BIN)/python -c 'import scipy.linalg, threadpoolctl; print({library.get("architecture") for library in threadpoolctl.threadpool_info()})'

.DEFAULT_GOAL := help
.PHONY: help digits reproduce-all test test-kernel lint docs clean

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

digits: .venv/run.stamp ## run one experiment of Duchi et al. (Fig. 7) on 1,797 small pictures of digits, with results in results/
	$(BIN)/snakemake --config dataset=digits

reproduce-all: .venv/run.stamp ## run every experiment on embedded data, with results in results/
	$(BIN)/snakemake reproduce-all

test: .venv/test.stamp ## run the tests
	$(PYTEST)

# Matrix products round differently on other processors. KERNEL is the processor whose kernel OpenBLAS uses: Haswell,
# Prescott, Zen or SkylakeX. The default is Haswell, or Prescott on machines that use the Haswell or Zen kernel anyway.
test-kernel: .venv/test.stamp ## run the tests, except for the workflow, with the BLAS kernel of another processor: KERNEL=Zen
	kernel=$(KERNEL); \
	if [ -z "$$kernel" ]; then case "$$($(KERNELS))" in *Haswell* | *Zen*) kernel=Prescott ;; *) kernel=Haswell ;; esac; fi; \
	export OPENBLAS_CORETYPE=$$kernel; echo "KERNEL=$$kernel, which OpenBLAS calls $$($(KERNELS))"; \
	$(PYTEST) $(WORKFLOW_TESTS:%=--ignore=tests/pipeline/test_%.py)

lint: .venv/dev.stamp ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint
	$(BIN)/mypy

docs: .venv/docs.stamp ## build the site, docs/_build/html/index.html, without a network
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto -d docs/_build/doctrees docs docs/_build/html

.venv/docs.stamp: .venv/run.stamp
	$(PIP) --editable .[pipeline,arrays] --group docs
	touch $@

# The option --group needs a new pip. The pip of $(PYTHON) installs it in one second instead of the five of ensurepip,
# which is used if $(PYTHON) has no pip.
.venv/made.stamp:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jointsparse needs Python 3.11 or newer, got %s: make PYTHON=python3.11" % sys.version.split()[0])'
	$(PYTHON) -m venv --without-pip .venv
	$(PYTHON) -m pip --python $(BIN)/python $(INSTALL) pip 2>/dev/null || \
		{ $(BIN)/python -m ensurepip >/dev/null && $(PIP) --upgrade pip; }
	touch $@

.venv/run.stamp: .venv/made.stamp pyproject.toml constraints.txt
	$(PIP) --editable .[pipeline]
	touch $@

# Each also installs what the stamps before it install: pip takes longer if it is called twice.
.venv/test.stamp: .venv/made.stamp pyproject.toml constraints.txt
	$(PIP) --editable .[pipeline,arrays] --group test
	touch .venv/run.stamp $@

.venv/dev.stamp: .venv/made.stamp pyproject.toml constraints.txt
	$(PIP) --editable .[pipeline,arrays] --group dev
	touch .venv/run.stamp .venv/test.stamp $@

clean: ## remove .venv and Snakemake's metadata; results/ stay, and only missing files are made again
	rm -rf .venv .snakemake
