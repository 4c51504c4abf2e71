# Needs Python 3.11 or newer, make and git; everything else is put into .tools and .venv of this checkout.
#
#   PYTHON=python3.12          the interpreter, where the first one found is not the wanted one
#   RUN_ARGS="--port 8800"     more arguments for `make run`
#   PYTEST_ARGS="-k recall"    more arguments for `make test`
#   PYTEST_WORKERS=0           run the tests in one process (else in 2)
#   BENCH_ARGS="speed writes" only these sections of `make bench`
#   BENCH_SCALE=0.1            a part of its work, to try it out: shown, not kept

.DEFAULT_GOAL := help
.PHONY: help run run-postgres test test-agents soak check lint format types imports docs shape bench bench-quality bench-speed runtime dev

PYTEST_WORKERS ?= 2
# Tests that share a service stay together, as far as that keeps all workers busy.
spread := -n $(PYTEST_WORKERS) --dist worksteal
# Public data to measure search with; without it what needs it says that it was left out.
BENCH_DATA := ../shared/bench
with_data = if [ -d $(BENCH_DATA) ]; then export HIVELORE_BENCH_DATA="$${HIVELORE_BENCH_DATA:-$$(cd $(BENCH_DATA) && pwd)}"; fi
# pyright comes whole in its package; this keeps it from asking PyPI for a newer one each time.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

bin := .venv/bin

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

run: runtime ## Start Hivelore on this machine
	@exec $(bin)/hivelore serve $(RUN_ARGS)

run-postgres: dev ## Start Hivelore on a PostgreSQL server of its own
	@exec $(bin)/python scripts/run_postgres.py $(RUN_ARGS)

test: dev ## Run the tests
	@$(with_data); exec $(bin)/python -m pytest $(spread) $(PYTEST_ARGS)

test-agents: dev ## Run the real agent programs (from npm) against stand-ins for their models
	@$(bin)/python scripts/install_agents.py
	@exec $(bin)/python -m pytest -m agents $(PYTEST_ARGS) tests/agents

soak: ## Run the long tests that `make test` leaves out, try laws on many more examples, measure a million memories
	@sh scripts/bootstrap.sh soak
	@$(with_data); export HIVELORE_TEST_SOAK=1; $(bin)/python -m pytest $(spread) -m "slow or hypothesis" $(PYTEST_ARGS)
	@$(MAKE) --no-print-directory bench BENCH_ARGS=speed-1m

check: lint format types imports docs shape ## Check style, types, the direction of imports and the documents

lint: dev
	@$(bin)/ruff check

format: dev
	@$(bin)/ruff format --check

types: dev
	@$(bin)/pyright

imports: dev
	@$(bin)/lint-imports --no-logo

docs: dev
	@$(bin)/python scripts/check_docs.py

shape: dev
	@$(bin)/python scripts/shape.py

bench: ## Measure speed and search quality; writes bench/README.md
	@sh scripts/bootstrap.sh bench
	@$(with_data); exec $(bin)/python -m bench $(BENCH_ARGS)

bench-quality: BENCH_ARGS := quality quality-rest recency updates
bench-quality: bench ## Measure search quality alone, in about eight minutes

bench-speed: BENCH_ARGS := speed speed-1m
bench-speed: bench ## Measure speed from 1,000 memories to a million, in about an hour

runtime dev:
	@sh scripts/bootstrap.sh $@
