# Everything lives in .venv. `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# torch is pinned here alone: one version with a CPU wheel that needs no GPU libraries
TORCH ?= torch==2.13.0

# one thread a process: two torch threads on two loaded cores are slower than one
TESTS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: demo test check setup setup-dev slow browser clean

demo: setup
	$(BIN)/rewardable demo --out runs/demo

test: setup-dev
	$(BIN)/ruff check src tests recipes benchmarks
	$(BIN)/ruff format --check src tests
	$(BIN)/pyright src
	$(TESTS) tests

# the pure tier: no models, no verbs, no other programs' data
check: setup-dev
	$(TESTS) tests/unit tests/architecture -m 'not slow and not browser and not whole'

slow: setup-dev
	$(BIN)/python -m pytest tests -m slow

browser: setup-dev
	$(BIN)/pip install -q selenium
	$(BIN)/python -m pytest tests/browser -m browser

setup: $(VENV)/.setup
setup-dev: $(VENV)/.setup-dev

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --upgrade pip

$(VENV)/.torch: $(VENV)/bin/python
	$(BIN)/pip install -q "$(TORCH)"
	touch $@

$(VENV)/.setup: $(VENV)/.torch pyproject.toml
	$(BIN)/pip install -q -e ".[train]"
	touch $@

$(VENV)/.setup-dev: $(VENV)/.setup pyproject.toml
	$(BIN)/pip install -q -e ".[train,dev]"
	touch $@

clean:
	rm -rf $(VENV) runs .pytest_cache .ruff_cache
