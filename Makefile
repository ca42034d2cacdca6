# Every target sets up what it needs on a machine with Python and make. `make` alone lists them.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo ui browser test test-slow test-s3 test-bucket check format reference bench constraints clean distclean

# Another Spark's settings would start that Spark, or feed its modules to this one.
unexport SPARK_HOME SPARK_CONF_DIR PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON PYSPARK_SUBMIT_ARGS PYTHONPATH PYTHONHOME

# 3.11 is what the checks run on; the others fit too.
PYTHON ?= python3.11 python3 python3.12 python3.10 python
FITTING := import ensurepip, sys, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
STAMP := $(VENV)/.installed

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make the environment in .venv, with the versions of constraints.txt

# No build isolation: setuptools comes from constraints.txt as well, and nothing is resolved twice. Python's warnings
# are about how setuptools makes any editable installation.
$(STAMP): pyproject.toml constraints.txt
	@for python in $(PYTHON); do \
	    if "$$python" -c '$(FITTING)' 2>/dev/null; then break; fi; python=; \
	done; \
	if [ -z "$$python" ]; then \
	    echo "No Python 3.10, 3.11 or 3.12 with venv and pip among: $(PYTHON)." >&2; \
	    echo "Install one, or name it: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; \
	    exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$python" --version); the first time takes a minute or two"; \
	"$$python" -m venv $(VENV)
	@$(PIP) install --quiet --constraint constraints.txt pip setuptools
	@PYTHONWARNINGS=ignore $(PIP) install --quiet --constraint constraints.txt --no-build-isolation --no-compile \
	    --editable '.[spark,airflow,local]' --group test --group check
	@touch $@

demo: $(STAMP) ## Run the quickstart DAG with real Airflow, Spark and Hudi, and show what it did
	@$(BIN)/python examples/demo.py

ui: $(STAMP) ## Start Airflow's web pages with the example DAGs on this machine (PORT=8080)
	@PORT=$(or $(PORT),8080) $(BIN)/python examples/ui.py

# Only where it can be had without asking anybody: as root on Debian. The test of the page says so elsewhere.
browser: ## Bring the browser that a test opens the validation report in, on Debian as root
	@if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && ! command -v chromium >/dev/null; then \
	    echo "Bringing Chromium for the test of the validation report"; \
	    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } \
	        >/dev/null 2>&1 || echo "No Chromium: that test is skipped"; \
	fi

# Two workers, a file of tests to one of them, in the order of tests/conftest.py. ARGS="-n 0" is without.
test: $(STAMP) browser ## Run all tests but the slow ones (ARGS="-k storage" for some)
	@$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder --durations=15 --durations-min=5 $(ARGS)

test-slow: $(STAMP) ## Run the long random tests, and object stores that Go and Node bring
	@HYPOTHESIS_PROFILE=long $(BIN)/pytest -m slow $(ARGS)

# Below the folder of S3Proxy, which keeps objects as plain files: tests go on using those, the engine speaks S3.
test-s3: $(STAMP) ## Run the tests of store, catalog and lifecycle once more in an object store
	@HUDI_INDEX_TEST_STORE=s3 $(BIN)/pytest -n 2 --dist loadfile -m "not slow and not spark" $(ARGS) \
	    tests/store tests/engine/catalog tests/lifecycle

# With the credentials of the environment, below a prefix of its own that is removed again.
test-bucket: $(STAMP) ## Run the tests of object stores in HUDI_INDEX_TEST_BUCKET=gs://bucket/path, or s3:// or abfss://
	@if [ -z "$$HUDI_INDEX_TEST_BUCKET" ]; then \
	    echo "Name a location in a bucket of yours: make $@ HUDI_INDEX_TEST_BUCKET=gs://bucket/path" >&2; exit 2; fi
	@$(BIN)/pytest -m bucket $(ARGS) tests/object_stores

check: $(STAMP) ## Lint, formatting, types and import contracts
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(STAMP) ## Format the code and fix what ruff can fix
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

# Airflow makes its home wherever it is imported.
reference: $(STAMP) ## Write docs/reference.md from the code
	@home=$$(mktemp -d) && AIRFLOW_HOME=$$home $(BIN)/python docs/reference.py >docs/reference.md; \
	    code=$$?; rm -rf "$$home"; exit $$code

bench: $(STAMP) ## Run the benchmarks in their short form, in under ten minutes
	@for benchmark in storage lookup scan dataset "queries --short" "lifecycle --short" \
	    "writer --short"; do \
	    set -- $$benchmark; $(BIN)/python benchmarks/$$1.py $$2 || exit 1; done

# One file for all Python versions and platforms: uv writes markers where they differ. It writes no addresses.
constraints: $(STAMP) ## Pin the newest versions that fit together
	@$(PIP) install --quiet --constraint constraints.txt --group pin
	@UV_CUSTOM_COMPILE_COMMAND="make constraints" $(BIN)/uv pip compile pyproject.toml --upgrade --universal \
	    --python-version 3.10 --all-extras --group build --group test --group check --group pin \
	    --system-certs --no-python-downloads --no-annotate --output-file constraints.txt >/dev/null

clean: ## Remove what the targets made, but for the environment
	rm -rf .demo .bench build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache \
	    .hypothesis metastore_db derby.log spark-warehouse
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean ## Remove the environment too
	rm -rf $(VENV)
