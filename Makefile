# Needs Python 3.11 to 3.13, git and make. `make PYTHON=python3.12 repro` chooses another Python. `make GPU=1 repro` also
# installs the libraries by which TensorFlow computes on NVIDIA's GPUs, on Linux and in WSL2.
# Before PATH has .venv: the uv that the lock installs there is not the machine's.
UV := $(shell uv --version 2>/dev/null)
ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN := .venv/Scripts
export PATH := $(CURDIR)/$(BIN);$(PATH)
else
PYTHON ?= python3
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)
endif
# The sizes are measured on Linux with Python 3.11.
ifneq ($(GPU),)
ifneq ($(shell uname -s),Linux)
$(error GPU=1: TensorFlow computes on GPUs on Linux and in WSL2 alone, this is $(shell uname -s); leave GPU=1 out, docs/gpu.md says more)
endif
LOCK := requirements-gpu.lock
READY := .venv/ready-gpu
DOWNLOAD := 3.7 GB
ON_DISK := 6.6 GB
else
LOCK := requirements.lock
READY := .venv/ready
DOWNLOAD := 0.6 GB
ON_DISK := 1.8 GB
endif
DEV := .venv/ready-dev
DOCS ?= $(BIN)/zensical
AUDIT ?= $(BIN)/pip-audit
GET_AUDIT := $(if $(UV),uv pip install --group audit,$(BIN)/python -m pip install pip-audit)
GET_DOCS := $(if $(UV),uv pip install --group docs,$(BIN)/python -m pip install zensical)
# A file's tests stay together; pytest takes files in the order of tests/conftest.py, the longest first.
SIDE_BY_SIDE := -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: help setup repro start test test-all quick durations proofs howtos page-proof presets attack bench bench-networks gpu-proof check format ui reference docs docs-serve lock audit wheel

help:
	@echo "make repro    set up the environment, run the variant of params.yaml end to end"
	@echo "make GPU=1 repro  the same, with the libraries of NVIDIA's GPUs (Linux, WSL2)"
	@echo "make setup    set up the environment, run nothing"
	@echo "make start    set up the environment, train ssd_small on drawn scenes as a start for detectors of your own"
	@echo "make test     set up the environment, run the test suite"
	@echo "make test-all  the test suite with the tests that are marked long, which take half as much time again; CI runs it"
	@echo "make quick    the tests that are nearest to what you changed since main, as many as run in a minute"
	@echo "make durations  the test suite, which then knows how long each of its files takes; on an idle machine"
	@echo "make proofs   the proofs that take minutes or gigabytes each: full-size networks, kills, full disks"
	@echo "make howtos   type every how-to page from its first line to its last, each in a clone"
	@echo "make page-proof  the team's page in Chromium: forty photos to five robots' zips, bad input, kills; 25 minutes"
	@echo "make presets  run every preset from its records to its export, about an hour; writes their table into docs/performance.md"
	@echo "make attack   hostile input for every reader, 50 attempts of each kind, other ones each time; prints what fell"
	@echo "make bench    the short benchmarks, about 15 minutes; writes their table into docs/performance.md"
	@echo "make bench-networks  images per second of every network, about 20 minutes; writes them into docs/performance.md"
	@echo "make gpu-proof  what bakeoff does on this machine's GPU, in eight minutes; writes the table into docs/gpu.md"
	@echo "make check    linter, formatter, types"
	@echo "make ui       MLflow's UI on this workspace's runs, http://127.0.0.1:5000"
	@echo "make reference  write docs/reference/ anew, after an edit of settings, commands, files or texts"
	@echo "make docs     build the site of docs/ into site/; make docs-serve shows it, http://127.0.0.1:8000"
	@echo "make audit    ask for known weaknesses of the pinned packages; needs a network"
	@echo "make format   format the code"
	@echo "make wheel    build the package that teams install, and the versions it was tested with, into dist/"
	@echo "make lock     pin the newest dependencies that pyproject.toml allows (needs uv)"

repro: $(READY)
	$(if $(shell git rev-parse HEAD 2>/dev/null),,$(error not in a git repository with a commit: get bakeoff with `git clone`, a downloaded archive has no history))
	bakeoff repro

setup: $(READY)

start: $(READY)
	bakeoff weights get drawn_ssd_small

test: $(DEV)
	python -m pytest $(SIDE_BY_SIDE)

test-all: $(DEV)
	python -m pytest -m "not slow" $(SIDE_BY_SIDE)

quick: $(DEV)
	python tests/quick.py $(SIDE_BY_SIDE)

durations: $(DEV)
	python -m pytest -m "not slow" $(SIDE_BY_SIDE) --write-durations

proofs: $(DEV)
	python -m pytest -m slow -rP

howtos: $(DEV)
	python -m pytest -m slow tests/test_howtos.py -rP

page-proof: $(DEV)
	python -m pytest -m slow -rP tests/proofs/page/test_whole_way.py tests/proofs/page/test_bad_input.py tests/proofs/page/test_kills.py

presets: $(DEV)
	python benchmarks/presets.py --write docs/performance.md

attack: $(DEV)
	python tests/proofs/attacks/attack.py --count 50

bench: $(DEV)
	python benchmarks/bench.py --write docs/performance.md

bench-networks: $(DEV)
	python benchmarks/bench.py --networks --write docs/performance.md

# It installs nothing: the environment may be one that was carried to a machine without a network.
gpu-proof:
	python benchmarks/gpu.py --write docs/gpu.md

check: $(DEV)
	ruff check .
	ruff format --check .
	mypy

format: $(DEV)
	ruff format .
	ruff check --fix .

ui: $(READY)
	bakeoff ui

reference: $(DEV)
	python -m reference

# Zensical is no part of the lock, for nobody needs it to train; `docs` in pyproject.toml says which version.
docs:
	@$(DOCS) --version > /dev/null 2>&1 || { echo 'make docs: Zensical is not installed; get it with: $(GET_DOCS)' >&2; exit 2; }
	$(DOCS) build --strict --clean
	@echo "the site: site/index.html"

docs-serve:
	@$(DOCS) --version > /dev/null 2>&1 || { echo 'make docs-serve: Zensical is not installed; get it with: $(GET_DOCS)' >&2; exit 2; }
	$(DOCS) serve --dev-addr 127.0.0.1:8000

# A package that the list does not know is a failure, too: an index without that list would pass everything.
audit:
	@$(AUDIT) --version > /dev/null 2>&1 || { echo 'make audit: pip-audit is not installed; get it with: $(GET_AUDIT)' >&2; exit 2; }
	@for lock in requirements*.lock; do \
	  echo "$$lock"; \
	  $(AUDIT) --strict --disable-pip --require-hashes --progress-spinner off --requirement $$lock 2> .venv/audit.log || \
	    { if grep -q '^Traceback' .venv/audit.log; then echo 'make audit: got no answer, and it needs a network; .venv/audit.log has more'; \
	      else tail -n 1 .venv/audit.log; fi >&2; exit 1; }; \
	done

PINS := uv pip compile --universal --generate-hashes --no-header --no-annotate --no-emit-index-url --python-version 3.11
lock:
	$(PINS) --extra train --group install pyproject.toml --upgrade --output-file requirements.lock
	cp requirements.lock requirements-gpu.lock
	$(PINS) --extra gpu --group install pyproject.toml --output-file requirements-gpu.lock
	$(PINS) --group dev --constraint requirements.lock --upgrade --output-file requirements-dev.lock

# The constraints are the lock without hashes, which pip would want of the wheel, too.
wheel: $(READY)
	$(BIN)/uv build --quiet --wheel --no-build-isolation --out-dir dist .
	@rm -rf build
	sed -n 's/^\([A-Za-z0-9._-]*==[^\]*[^ \]\) *\\*$$/\1/p' requirements.lock > dist/constraints.txt
	@ls dist/bakeoff-*.whl dist/constraints.txt

# .venv, from the lock. environment.py installs it with uv: with the machine's, else with the one that the lock pins.
$(READY): $(LOCK) pyproject.toml setup.py environment.py
	@echo "setting up .venv: about $(DOWNLOAD) to download, $(ON_DISK) on disk; later calls find it ready"
ifneq ($(UV),)
	uv venv --quiet --allow-existing --python ">=3.11,<3.14" .venv
else
	@$(PYTHON) -c "import sys; v = sys.version_info; (3, 11) <= v < (3, 14) or sys.exit(f'bakeoff needs Python 3.11 to 3.13, {sys.executable} is {v.major}.{v.minor}: make PYTHON=python3.12 ...')"
	$(PYTHON) -m venv .venv
endif
	$(BIN)/python environment.py $(LOCK)
	@$(BIN)/python -c "open('$(READY)', 'w').close()"

# What only working on the project needs: pytest, mypy, ruff and their like.
$(DEV): $(READY) requirements-dev.lock
	$(BIN)/python environment.py requirements-dev.lock
	@$(BIN)/python -c "open('$(DEV)', 'w').close()"
