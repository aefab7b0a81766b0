# One command trains, one tests. Needs git, make and Python 3.11 or newer; everything else goes into .venv and the
# user's cache. Where packages come from is pip's and npm's own configuration (PIP_INDEX_URL, PIP_FIND_LINKS, .npmrc).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
# only files whose hash stands in locks/, which `make lock` writes from constraints.txt; builds fetch nothing
HASHED := $(PIP) --require-hashes --no-build-isolation
# torch is published in several builds (CUDA, CPU, ROCm). locks/torch.txt knows those of the package index and the CPU
# build for Linux; any other build of the pinned version is taken, unchecked, with TORCH_HASHES=no
TORCH := $(shell grep '^torch==' constraints.txt)
TORCH_HASHES ?= yes
LUDUS := $(PIP) --no-deps --no-build-isolation --no-index -e .
STAMPS := $(VENV)/.stamps
CHARTS := $(VENV)/share/ludus/charts
# most tests wait for the programs they start, so one more than there are cores; whole files at a time and in their
# order: the shortest come last
ABREAST := -n $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)') --maxprocesses 4 --dist loadfile \
	--no-loadscope-reorder

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help train play setup test lint docs format lock gate clean

help:  ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

train: $(STAMPS)/run simulator  ## set up, train the default preset, evaluate
	@$(BIN)/ludus train --watch

AGENT ?= gen1-best
play: $(STAMPS)/run simulator  ## set up, then play against an agent in the browser: make play AGENT=gen9-best
	@$(BIN)/ludus play $(AGENT) --browser

setup: $(STAMPS)/dev simulator  ## create .venv with everything that running and developing need
	@$(if $(filter setup,$(MAKECMDGOALS)),echo "ready; next: source $(BIN)/activate && ludus doctor",:)

test: lint  ## set up, then lint, types, import contracts, the documentation site and all tests
	$(BIN)/pytest -m "not slow and not forge" $(ABREAST)

lint: setup  ## ruff, mypy, import-linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: setup  ## build the documentation site into site/; a dead link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "open site/index.html, or: $(BIN)/python -m http.server --directory site"

format: $(STAMPS)/dev  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: $(STAMPS)/run  ## rewrite the lock files of Python packages and of the simulator, without addresses
	$(BIN)/python scripts/lock_hashes.py
	cd src/ludus/games/showdown/simulator && rm -f package-lock.json && $(CURDIR)/$(BIN)/npm install --package-lock-only \
		--omit=optional --ignore-scripts --omit-lockfile-registry-resolved --no-audit --no-fund
	$(BIN)/node -e 'const fs = require("fs"), file = process.argv[1], lock = JSON.parse(fs.readFileSync(file)); \
		for (const each of Object.values(lock.packages)) delete each.funding; \
		fs.writeFileSync(file, JSON.stringify(lock, null, 2) + "\n")' src/ludus/games/showdown/simulator/package-lock.json

RANGE ?= HEAD~1..HEAD
gate: setup  ## is a commit slower than another? make gate RANGE=main..HEAD
	@$(BIN)/python benchmarks/gate.py $(RANGE)

clean:  ## remove .venv and every cache in this folder; runs and the simulator stay
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: simulator
simulator: $(STAMPS)/run
	@$(BIN)/python -m ludus.games.showdown

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ludus needs Python 3.11 or newer; say which: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

# Of several builds pip takes the one whose hash it knows before it looks, so the build is chosen by its version alone,
# fetched, and then installed by hash. The CUDA builds for Linux need packages that no other build needs (CUDA libraries,
# triton), which torch pins exactly: the last command installs those by version, and nothing for other builds.
$(STAMPS)/torch: constraints.txt locks/build.txt locks/run.txt locks/charts.txt locks/torch.txt | $(STAMPS)/venv
	@echo "installing $(TORCH) and what ludus runs on"
	@$(HASHED) -r locks/build.txt
	@$(HASHED) -r locks/run.txt
	@rm -rf $(CHARTS) && $(HASHED) --no-deps --target $(CHARTS) -r locks/charts.txt  # its JavaScript is used, not its Python
ifneq ($(TORCH_HASHES),no)
	@$(BIN)/python -m pip download -qq --disable-pip-version-check --no-deps -d $(VENV)/torch $(TORCH)
	@$(HASHED) --no-deps --no-index -f $(VENV)/torch -r locks/torch.txt || { echo "if the hashes do not match, pip is \
	configured for a build of torch that is not in locks/torch.txt: make TORCH_HASHES=no takes it unchecked"; exit 1; }
	@rm -rf $(VENV)/torch
endif
	@$(PIP) -c constraints.txt $(TORCH)
	@touch $@

$(STAMPS)/run: pyproject.toml $(STAMPS)/torch
	@echo "installing ludus"
	@$(LUDUS)
	@touch $@

$(STAMPS)/dev: pyproject.toml locks/dev.txt locks/docs.txt locks/rocket.txt $(STAMPS)/torch
	@echo "installing ludus and development tools"
	@$(HASHED) -r locks/dev.txt
	@$(HASHED) -r locks/docs.txt
	@$(HASHED) --no-deps -r locks/rocket.txt  # one of them asks for a NumPy older than other games take
	@$(LUDUS)
	@touch $(STAMPS)/run $@
