# Two commands matter: `make run` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
OPA_VERSION := $(shell cat .opa-version)
PYTEST_ARGS ?= -n 2 --dist loadfile

.PHONY: help run test lint types rego unit fuzz torture conformance bench serve schemas library-digests clean

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 22

.venv/.base: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("aioc-opa needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded,approvals]'
	touch $@

.venv/.dev: .venv/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[embedded,approvals,dev]'
	touch $@

.opa/$(OPA_VERSION)/path: scripts/find-opa .opa-version
	mkdir -p $(@D)
	scripts/find-opa > $@.new
	mv $@.new $@

run: .venv/.base ## decide 572 recorded airline calls, in process: no server needed
	$(BIN)/aioc-opa replay examples/airline/calls.jsonl --tools examples/airline/tools.json --policy rego \
	  --expect examples/airline/expected.jsonl --engine embedded

test: lint types rego unit ## everything, against a real OPA server

lint: .venv/.dev ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.dev ## mypy --strict
	$(BIN)/mypy

rego: .venv/.dev .opa/$(OPA_VERSION)/path ## opa fmt, check, test with coverage, and our own lint
	AIOC_OPA_BIN=$$(cat .opa/$(OPA_VERSION)/path) scripts/check-rego

unit: .venv/.dev .opa/$(OPA_VERSION)/path ## pytest with branch coverage
	rm -f .coverage .coverage.*
	AIOC_OPA_BIN=$$(cat .opa/$(OPA_VERSION)/path) $(BIN)/coverage run -m pytest $(PYTEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

fuzz: .venv/.dev .opa/$(OPA_VERSION)/path ## 200,000 inputs to the decoder, 200,000 verdicts on both engines
	AIOC_OPA_BIN=$$(cat .opa/$(OPA_VERSION)/path) AIOC_FUZZ_EXAMPLES=200000 AIOC_FUZZ_VERDICTS=200000 \
	  $(BIN)/pytest -m 'fuzz' -o timeout=0 tests

torture: .venv/.dev .opa/$(OPA_VERSION)/path ## 10,000 races a kind and store, processes and servers killed
	AIOC_OPA_BIN=$$(cat .opa/$(OPA_VERSION)/path) AIOC_TORTURE_RACES=10000 AIOC_TORTURE_CRASHES=300 \
	  $(BIN)/pytest -m 'torture' -o timeout=0 tests/torture

conformance: .venv/.dev .opa/$(OPA_VERSION)/path ## OPA's own evaluation suite on the embedded engine
	AIOC_OPA_BIN=$$(cat .opa/$(OPA_VERSION)/path) $(BIN)/python -m tests.conformance

bench: .venv/.dev .opa/$(OPA_VERSION)/path ## what a decision costs, by ratio to its peers in one run
	AIOC_OPA_BIN=$$(cat .opa/$(OPA_VERSION)/path) RUST_BACKTRACE=0 $(BIN)/python -m bench

serve: .venv/.base .opa/$(OPA_VERSION)/path ## OPA with the policies of rego/, on http://127.0.0.1:8181
	AIOC_OPA_BIN=$$(cat .opa/$(OPA_VERSION)/path) $(BIN)/aioc-opa serve --policy rego

schemas: .venv/.dev ## write schemas/ from the models
	$(BIN)/python scripts/generate-schemas

library-digests: .venv/.dev ## write the list of the library's files that a policy may have
	$(BIN)/python scripts/generate-library-digests

clean: ## remove what was built here, but not OPA
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.*
