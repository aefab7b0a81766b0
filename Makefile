# One command trains, one tests. Needs git, make and Python 3.11 or newer; everything else goes into .venv and the
# user's cache. Where packages come from is pip's and npm's own configuration (PIP_INDEX_URL, PIP_FIND_LINKS, .npmrc).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
TORCH := $(shell grep '^torch==' constraints.txt)
STAMPS := $(VENV)/.stamps
# the extra rocket, less than a megabyte; by itself, since one of them asks for a NumPy older than other games take
ROCKET := rocketsim rlgym-api rlgym-rocket-league
# most tests wait for the programs they start, so one more than there are cores; whole files at a time and in their
# order: the shortest come last
ABREAST := -n $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)') --maxprocesses 4 --dist loadfile \
	--no-loadscope-reorder

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help train setup test lint format lock clean

help:  ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

train: $(STAMPS)/run simulator  ## set up, train the default preset, evaluate
	@$(BIN)/ludus train

setup: $(STAMPS)/dev simulator  ## create .venv with everything that running and developing need

test: lint  ## set up, then lint, types, import contracts and all tests
	$(BIN)/pytest -m "not slow" $(ABREAST)

lint: setup  ## ruff, mypy, import-linter
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMPS)/dev  ## let ruff rewrite what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: $(STAMPS)/run  ## rewrite the simulator's lock file, without addresses
	cd src/ludus/games/showdown/simulator && rm -f package-lock.json && $(CURDIR)/$(BIN)/npm install --package-lock-only \
		--omit=optional --ignore-scripts --omit-lockfile-registry-resolved --no-audit --no-fund
	$(BIN)/node -e 'const fs = require("fs"), file = process.argv[1], lock = JSON.parse(fs.readFileSync(file)); \
		for (const each of Object.values(lock.packages)) delete each.funding; \
		fs.writeFileSync(file, JSON.stringify(lock, null, 2) + "\n")' src/ludus/games/showdown/simulator/package-lock.json

clean:  ## remove .venv and every cache in this folder; runs and the simulator stay
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
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

# torch by itself and exactly first, so that no other package's range decides which build is taken
$(STAMPS)/torch: constraints.txt | $(STAMPS)/venv
	@echo "installing $(TORCH)"
	@$(PIP) $(TORCH)
	@touch $@

$(STAMPS)/run: pyproject.toml constraints.txt $(STAMPS)/torch
	@echo "installing ludus and what it runs on"
	@$(PIP) -c constraints.txt -e '.[showdown]'
	@touch $@

# in one go with what running needs: the package is built once
$(STAMPS)/dev: pyproject.toml constraints.txt $(STAMPS)/torch
	@echo "installing ludus, what it runs on and development tools"
	@$(PIP) -c constraints.txt -e '.[showdown,dev]'
	@$(PIP) -c constraints.txt --no-deps $(ROCKET)
	@touch $(STAMPS)/run $@
