# How to work on muniment. Everything below needs `make` and Python 3.11 or newer, and lives in this folder:
#
#   make up       install the program and start it             ARGS= goes to `muniment up`
#   make test     all that must hold before a change lands     ARGS= goes to pytest, as in ARGS="tests/store -k words"
#   make fix      repair format and imports, before `make lint` complains of them
#
# Versions are pinned with hashes in requirements/*.txt. To change one, edit pyproject.toml (the program) or
# requirements/*.in (its tools), run `make pins`, and commit both.

PYTHON ?= python3
ARGS ?=

# The agent programs that `make clients` drives: what docs/compatibility.md says was proved with these.
CLIENTS = @anthropic-ai/claude-code@2.1.325 @openai/codex@0.166.0 @mariozechner/pi-coding-agent@0.73.1 \
	opencode-ai@1.18.33 @google/gemini-cli@0.61.0 @github/copilot@1.0.102

# uv where there is one, else pip. uv is told to trust what the machine trusts, as pip is, and to fetch no Python.
UV := $(shell command -v uv)
export UV_SYSTEM_CERTS = 1
export UV_PYTHON_DOWNLOADS = never
venv = $(if $(UV),uv venv --quiet --allow-existing --python $(PYTHON),$(PYTHON) -m venv)
pip = $(if $(UV),uv pip $(2) --python $(1)/bin/python,$(1)/bin/python -m pip --disable-pip-version-check $(2))

# pyright comes whole from its wheels; this stops it asking the network for a newer one.
export PYRIGHT_PYTHON_IGNORE_WARNINGS = 1

.PHONY: up test lint fix page types bare faults soak load bench quality clients docs golden pins clean

up: page
	.venv/bin/muniment up $(ARGS)

test: lint bare page types
	.venv/bin/pytest -n 2 --verbosity=0 $(ARGS)

lint: .venv/.dev
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/pyright
	.venv/bin/lint-imports --no-logo

fix: .venv/.dev
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

# The viewer's page, made anew when a source in web/ is newer; it needs node, or takes the one of a wheel. The C module
# too, where there is a compiler.
page: .venv/.run
	.venv/bin/python hatch_build.py

# The types of the page: what builds it does not look at them.
types: .venv/.run
	.venv/bin/python hatch_build.py --check

# The wheel, beside what the program says it needs and nothing else: a dependency or a file left out shows here.
bare: .venv/.dev build/bare/.run
	rm -rf build/wheel
	.venv/bin/hatchling build -t wheel -d build/wheel
	$(call pip,build/bare,install --quiet) --no-index --no-deps --force-reinstall build/wheel/*.whl
	$(call pip,build/bare,check)
	cd build && env -u PYTHONPATH bare/bin/muniment --version
	cd build && env -u PYTHONPATH bare/bin/muniment --help >/dev/null

# The recorder and the archive under kills, power cuts, full disks, damage and failing fsyncs, far more of them than
# `make test` has time for. Takes half an hour. What the machine does not allow (strace, mounting) is skipped with a word:
# see it by ARGS=-rs.
faulty = .venv/bin/pytest -o tmp_path_retention_policy=failed tests/record/faults tests/faults $(ARGS)
faults: .venv/.dev
	CONFORMANCE_SCALE=full MUNIMENT_KILLS=25 MUNIMENT_POINTS=0 $(faulty)

# The same for a whole night.
soak: .venv/.dev
	CONFORMANCE_SCALE=soak MUNIMENT_KILLS=200 MUNIMENT_POINTS=0 $(faulty)

# The viewer with its watch under load: 10,000 sessions, 50 clients, 200 lines a second for four minutes. Its memory has to
# level off, no client may see an error, and every message has to be archived. A smaller one: ARGS="--seconds 60".
load: .venv/.dev page
	.venv/bin/python -m tests.load $(ARGS)

# Against the rivals, and against our promises. Takes minutes; a quick look: ARGS=--quick. It runs on the fastest Python
# of the machine (bench/fastest.py): what a build without optimisation costs is not ours to measure.
bench: .bench/env/.dev page
	.bench/env/bin/python -m bench $(ARGS)

# How well extractors find what careful readers found in real sessions, beside trivial baselines.
quality: .venv/.dev
	.venv/bin/python -m tests.quality $(ARGS)

# Real agent programs resume what muniment restored, exported, or took over from another. They talk to a model server of
# the tests, never to a real one. Takes a quarter of an hour; before a release. ARGS=-rs tells what was skipped and why.
# (`cd`, and not `npm --prefix`: with that, npm forgets the machine's own settings.)
clients: .venv/.dev
	mkdir -p .clients && echo '{"private": true}' >.clients/package.json
	cd .clients && npm install --no-audit --no-fund --loglevel=error $(CLIENTS)
	MUNIMENT_CLIENTS=.clients .venv/bin/pytest -n 2 --dist loadfile tests/clients $(ARGS)

# What the program writes about itself: its documents, and the types of the page.
written = .venv/bin/python -m $(1) $(2) >build/written && mv build/written $(2)
docs: .venv/.run
	mkdir -p build
	.venv/bin/python -m muniment.surfaces.cli.help >build/cli.md
	mv build/cli.md docs/cli.md
	$(call written,muniment.surfaces.web.describe,docs/api.md)
	$(call written,muniment.surfaces.web.describe,web/src/lib/types.ts)

# Write the expected files of the tests anew. Then read `git diff tests` as a reader of the output would.
golden: .venv/.dev
	MUNIMENT_GOLDEN=write .venv/bin/pytest -n 2 $(ARGS)

# Choose the pinned versions again. Those that still fit stay; ARGS=--upgrade takes the newest of all.
compile = .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--custom-compile-command "make pins" $(ARGS)
pins: .venv/.dev
	$(compile) pyproject.toml -o requirements/run.txt
	$(compile) requirements/build.in -c requirements/run.txt -o requirements/build.txt
	$(compile) pyproject.toml requirements/build.in requirements/dev.in \
		-c requirements/run.txt -c requirements/build.txt -o requirements/dev.txt

# Remove what the targets above made, save .bench and .clients, which are slow to get again.
clean:
	rm -rf web/node_modules src/muniment/surfaces/web/static src/muniment/store/_scan.abi3.so
	rm -rf .venv build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests bench -name __pycache__ -prune -exec rm -rf {} +

# The environments. A stamp is the time of the last install, so that nothing is installed twice.
built = pyproject.toml hatch_build.py src/muniment/store/_scan.c
.venv/.run: requirements/run.txt requirements/build.txt $(built) | .venv/bin/activate
	$(call pip,.venv,install --quiet) --require-hashes -r requirements/run.txt -r requirements/build.txt
	$(call pip,.venv,install --quiet) --no-deps --no-build-isolation -e .
	@touch $@

.venv/.dev: requirements/dev.txt | .venv/.run
	$(call pip,.venv,install --quiet) --require-hashes -r requirements/dev.txt
	@touch $@

.venv/bin/activate:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "muniment needs Python 3.11 or newer: make PYTHON=...")'
	$(venv) .venv

.bench/env/.dev: requirements/dev.txt $(built) | .venv/.dev
	.venv/bin/uv venv --quiet --clear --python "$$(.venv/bin/python bench/fastest.py)" .bench/env
	.venv/bin/uv pip install --quiet --python .bench/env/bin/python --require-hashes -r requirements/dev.txt
	.venv/bin/uv pip install --quiet --python .bench/env/bin/python --no-deps --no-build-isolation -e .
	@touch $@

build/bare/.run: requirements/run.txt
	rm -rf build/bare
	$(venv) build/bare
	$(call pip,build/bare,install --quiet) --require-hashes -r requirements/run.txt
	@touch $@
