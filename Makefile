# Two commands: `make reproduce-all` and `make test`. Both set up .venv first if need be.
PYTHON ?= python3
BIN := .venv/bin

# Files whose tests multiply matrices by BLAS.
BLAS_TESTS := basis comparison descent exponentiated kernels pdhg problem recovery similarities \
	suboptimality subgradient svm sweep

.PHONY: reproduce-all test test-kernel lint clean

reproduce-all: .venv/run.stamp
	$(BIN)/snakemake reproduce-all

test: .venv/dev.stamp
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# Products round differently on other processors. OPENBLAS_CORETYPE names a processor whose kernel OpenBLAS shall run:
# here Haswell, or Prescott where this machine runs that of Haswell by itself.
test-kernel: .venv/dev.stamp
	own=$$($(BIN)/python -c 'import numpy, threadpoolctl; print([one.get("architecture") for one in threadpoolctl.threadpool_info()])'); \
	case "$$own" in *Haswell* | *Zen*) other=Prescott ;; *) other=Haswell ;; esac; \
	OPENBLAS_CORETYPE=$$other $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder \
		$(BLAS_TESTS:%=tests/test_%.py)

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow/rules
	$(BIN)/mypy

.venv/run.stamp: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jointsparse needs Python 3.11 or newer, got %s: make PYTHON=python3.11" % sys.version.split()[0])'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	touch $@

.venv/dev.stamp: .venv/run.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .[dev]
	touch $@

clean:
	rm -rf .venv .snakemake
