# Every target works from nothing: it needs Python 3.11 or newer, make and a package index.
# Environments live under .venvs/, one per purpose, and are rebuilt when their lock changes.

PYTHON ?= python3
JOBS ?= 2
ENVS := .venvs
CHECKED := src tests benchmarks examples docs fuzz
MINUTES ?= 5
LOCK := pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --no-header \
        --no-annotate --no-emit-index-url --no-emit-find-links pyproject.toml requirements/build.in

.PHONY: help demo test test-oldest lint types unit thorough fuzz kill docs docs-checked picture \
        bench lock relock clean
.DEFAULT_GOAL := help

help:
	@echo "make demo   cluster a bundled dataset and say what came out (demo-output/)"
	@echo "make test   style, types, documentation, all tests"
	@echo "make test-oldest  some tests with the lowest versions that are allowed"
	@echo "make bench  every benchmark with its bar (data folder: CLUSTERSCAPE_DATA)"
	@echo "make fuzz   generated calls and damaged files for MINUTES=5; make kill: signals, full disks"
	@echo "make docs   the documentation site (docs/_build/html/index.html)"
	@echo "make clean  remove the environments and everything that was built"

# ---- environments -------------------------------------------------------------------------

PIP_INSTALL := bin/python -m pip install --quiet --disable-pip-version-check

# The package itself, in place: quick, so it follows every change of pyproject.toml.
$(ENVS)/%/.ready: $(ENVS)/%/.locked pyproject.toml
	@$(ENVS)/$*/$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# Everything else, as locked.
$(ENVS)/%/.locked: requirements/%.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; $(PYTHON) is `$(PYTHON) -V`." \
	  "Name another one: make PYTHON=python3.12 ..."; exit 1; }
	@echo "setting up $(ENVS)/$* (once)"
	@rm -rf $(ENVS)/$*
	@$(PYTHON) -m venv $(ENVS)/$*
	@$(ENVS)/$*/$(PIP_INSTALL) -r $<
	@touch $@

.PRECIOUS: $(ENVS)/%/.ready $(ENVS)/%/.locked

# ---- what people type ---------------------------------------------------------------------

demo: $(ENVS)/demo/.ready
	@$(ENVS)/demo/bin/clusterscape demo -o demo-output

# The tests come last, so that their closing line ends the output.
test: lint types docs-checked unit

lint: $(ENVS)/test/.ready
	$(ENVS)/test/bin/python -m ruff check $(CHECKED)
	$(ENVS)/test/bin/python -m ruff format --check $(CHECKED)

types: $(ENVS)/test/.ready
	$(ENVS)/test/bin/python -m mypy

# The pages of reports are tested in a real browser. Where there is none and Debian's packages can
# be installed, it is; elsewhere these tests are skipped and say so (not in continuous integration).
.PHONY: browser
browser:
	@command -v chromium chromium-browser google-chrome > /dev/null || { \
	  test "$$(id -u)" = 0 && command -v apt-get > /dev/null && \
	  echo "installing chromium (once)" && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium \
	    > /dev/null; } || echo "no browser: tests of the report's page are skipped"

unit: $(ENVS)/test/.ready browser
	$(ENVS)/test/bin/python -m pytest -n $(JOBS) --doctest-modules tests src/clusterscape

# A hundred seeds and many more examples than the tests take by default.
thorough: $(ENVS)/test/.ready
	CLUSTERSCAPE_SEEDS=0-99 HYPOTHESIS_PROFILE=thorough \
	  $(ENVS)/test/bin/python -m pytest -n $(JOBS) tests

# Each finding is printed with a seed and the command that repeats it (fuzz/README.md).
fuzz: $(ENVS)/test/.ready
	$(ENVS)/test/bin/python fuzz/fuzz.py --minutes $(MINUTES)
	$(ENVS)/test/bin/python fuzz/fuzz.py --bounds --minutes $(MINUTES)

kill: $(ENVS)/test/.ready
	$(ENVS)/test/bin/python fuzz/kill.py --minutes $(MINUTES)

# The lowest versions that pyproject.toml allows, found by uv: what users of old installations have.
# Old packages beside new ones warn of what goes away some day; this is not our subject here.
OLDEST := $(ENVS)/oldest/bin/python
OLDEST_TESTS ?= tests/test_io_tables.py tests/test_messy_tables.py tests/test_preprocess.py \
  tests/test_cli_tables.py tests/test_anndata.py tests/test_ensemble_files.py tests/test_params.py \
  tests/test_model.py tests/test_store.py tests/test_compare.py tests/test_kcc.py \
  tests/test_habits.py tests/test_io_blocks.py tests/test_cli_findings.py

test-oldest: $(ENVS)/lock/bin/uv
	@rm -rf $(ENVS)/oldest
	@$< venv --quiet --python $(PYTHON) $(ENVS)/oldest
	@$< pip install --quiet --python $(OLDEST) --resolution lowest-direct \
	  ".[anndata,excel,parquet]" "pytest>=8" "pytest-xdist>=3.5" "hypothesis>=6.100" "polars>=1.0" \
	  "numpydoc>=1.7"
	$(OLDEST) -m pytest -n $(JOBS) -p no:cacheprovider -W ignore::DeprecationWarning $(OLDEST_TESTS)

# Warnings are errors, and the gallery is run.
SPHINX := -m sphinx -W --keep-going -q -b html docs docs/_build/html

docs-checked: $(ENVS)/test/.ready
	$(ENVS)/test/bin/python $(SPHINX)

docs: $(ENVS)/docs/.ready
	$(ENVS)/docs/bin/python $(SPHINX)
	@echo "docs/_build/html/index.html"

# The picture of the README.
picture: $(ENVS)/docs/.ready
	$(ENVS)/docs/bin/python docs/picture.py

# One after the other: timings taken side by side would disturb each other.
BENCHMARKS ?= $(sort $(wildcard benchmarks/*/*.py))

bench: $(ENVS)/bench/.ready
	@failed=; summary=; for program in $(BENCHMARKS); do \
	  echo "== $$program --check"; \
	  if $(ENVS)/bench/bin/python $$program --check; then verdict=passed; \
	  else verdict=FAILED; failed=yes; fi; \
	  summary="$$summary$$verdict  $$program\n"; \
	done; printf "\n$$summary"; test -z "$$failed"

# ---- locks --------------------------------------------------------------------------------

# The tests' lock comes first and binds the others: what people run is what was tested.
lock: $(ENVS)/lock/bin/uv
	$< $(LOCK) $(UPGRADE) --extra test --extra docs -o requirements/test.txt
	$< $(LOCK) -c requirements/test.txt -o requirements/demo.txt
	$< $(LOCK) -c requirements/test.txt --extra docs -o requirements/docs.txt
	$< $(LOCK) -c requirements/test.txt --extra bench -o requirements/bench.txt

relock:
	$(MAKE) lock UPGRADE=--upgrade

$(ENVS)/lock/bin/uv:
	$(PYTHON) -m venv $(ENVS)/lock
	$(ENVS)/lock/bin/python -m pip install --quiet --disable-pip-version-check uv

clean:
	rm -rf $(ENVS) build dist demo-output docs/_build docs/auto_examples docs/api/generated docs/methods/generated docs/commands/generated
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
