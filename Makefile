# make demo    measure eight releases of a real package, check neighbours, write the pages (three minutes with its set-up)
# make demo-curves  the same of a skip list in Python and C++, every call against its size
# make test    lint, types, every test and the branches of the rooms that judge; with ARGS only pytest with these: make test ARGS='-k store'
# make quick   the tests that are not marked slow, in a minute and a half; with ARGS those of a room, in one process: make quick ARGS=tests/text
# make explore  the tests by examples, with examples that nobody has tried; a failure prints how to repeat it
# make coverage  only these branches, by the tests of these rooms; with ARGS=--all the branches of everything, in all processes (slow)
# make bench   measure this commit and the one where it left main in turns; fails on a proven degradation, or above a limit (QUICK=1: instructions only; BASE=...)
# make bench-history COUNT=50  measure the last commits (every tenth; EVERY=...) by instructions, and publish them to build/bench
# make site    make a site with a search of docs/, in build/docs, and the manual page of all commands, in build/man
# make docs    the same, after running the commands of every document and recording those that take seconds, which `make test` compares
# make lint    ruff and mypy only
# make fresh   demo and test on a minimal Debian 12 that is built for it and removed again (needs root and debootstrap)
# make arm64   the demo with fewer executions and the tests nearest to the machine, on a Debian of arm64 (needs also qemu-user-static elsewhere)
# make clean   remove what these made
#
# Each makes its own virtual environment (.venv-demo, .venv-test) with the first Python >= 3.11 on PATH; `make test PYTHON=...` names another.

SHELL = /bin/sh
PYTHON =
ARGS =
EXECUTIONS =
WORKERS = 3
IN_TEST = .venv-test/bin/python -m
NOT = --extend-exclude demo/sqlparse,demo/skiplist
COVERED = $(IN_PROCESS) COVERAGE_RCFILE="$(SETTINGS)" COVERAGE_PROCESS_START="$(SETTINGS)" COVERAGE_FILE="$(CURDIR)/.coverage"
CORE = tests/statistics tests/check tests/store/test_profile.py tests/store/test_summary.py tests/text/test_units.py
ifeq ($(ARGS),--all)
SETTINGS = $(CURDIR)/pyproject.toml
MEASURED =
else
SETTINGS = $(CURDIR)/.ci/core.toml
IN_PROCESS = COVERAGE_IN_PROCESS="$(CORE)"
MEASURED = -m "not simulation" $(CORE)
endif

.PHONY: help bench bench-history demo demo-curves test quick explore coverage site docs lint fresh arm64 clean

unexport PYTHONDONTWRITEBYTECODE # pytest keeps the tests that it has prepared, mypy and Python what they have compiled

help:
	@sed -n 's/^# \(make [a-z0-9-]* .*\)/\1/p' Makefile

demo: demo/built
	@PATH="$(CURDIR)/.venv-demo/bin:$$PATH" EXECUTIONS="$(EXECUTIONS)" sh examples/demo/run.sh demo

demo-curves: demo/skiplist/built
	@PATH="$(CURDIR)/.venv-demo/bin:$$PATH" sh examples/skiplist/run.sh demo

# Everything is run, whatever failed before; the end names what did. (No $(MAKE) in here: --dry-run would run it.)
RUFF = $(IN_TEST) ruff check $(NOT) . || failed="$$failed ruff-check"; $(IN_TEST) ruff format --check $(NOT) . || failed="$$failed ruff-format"
# The types are checked beside the tests: without its cache mypy takes half a minute of one processor.
MYPY = $(IN_TEST) mypy >.venv-test/mypy.log 2>&1 & mypy=$$!
TYPED = wait $$mypy || failed="$$failed mypy"; cat .venv-test/mypy.log; rm -f .venv-test/mypy.log
PYTEST = PATH="$$PATH:$(CURDIR)/.venv-test/bin" $(IN_TEST) pytest
# In a fresh clone each worker would compile perfvcs and all tests by itself, for longer than one takes that only collects them.
COMPILED = test -d tests/__pycache__ || $(PYTEST) --collect-only -qq >/dev/null 2>&1 || :
WITH_COVERAGE = rm -f .coverage .coverage.* .coverage-skipped; $(COVERED) $(PYTEST) -n $(WORKERS) --dist worksteal
# The bound of coverage is for a run of everything: where a tool is missing, another one would hold each time.
UNBOUND = { echo "coverage: no bound, since $$(cat .coverage-skipped) tests were skipped for what is missing here" >&2; echo --fail-under=0; }
BOUND = $$(! test -f .coverage-skipped || $(UNBOUND))
BRANCHES = (export $(COVERED); $(IN_TEST) coverage combine --quiet && $(IN_TEST) coverage report $(BOUND)) || failed="$$failed coverage"
# A run of all tests writes to memory where there is room, and removes what it wrote; pytest keeps what a run with ARGS wrote.
SCRATCH = TMPDIR=$$(sh .ci/scratch); export TMPDIR; trap 'rm -rf "$$TMPDIR"' EXIT; trap 'exit 130' INT TERM
EVERY_TEST = $(SCRATCH); $(COMPILED); $(WITH_COVERAGE) || failed="$$failed pytest"; $(BRANCHES)
VERDICT = test -z "$$failed" || { echo "make $@: failed:$$failed" >&2; exit 1; }

NO_TEST = no test is called that; the rows of @each have no name of their own
FOUND = { code=$$?; test $$code -ne 5 || echo "make $@: $(NO_TEST)" >&2; exit $$code; }

test: .venv-test/installed
ifeq ($(ARGS),)
	@failed=; $(MYPY); $(RUFF); $(EVERY_TEST); $(TYPED); $(VERDICT)
else
	@$(PYTEST) $(ARGS) || $(FOUND)
endif

quick: .venv-test/installed
	@$(SCRATCH); $(COMPILED); $(PYTEST) $(if $(ARGS),,-n $(WORKERS) --dist worksteal) -m "not slow" $(ARGS) || $(FOUND)

explore: .venv-test/installed
	@PERFVCS_EXAMPLES=explore $(PYTEST) -n $(WORKERS) --dist worksteal -m hypothesis $(ARGS)

coverage: .venv-test/installed
	@failed=; $(WITH_COVERAGE) $(MEASURED) || failed="$$failed pytest"; $(BRANCHES); $(VERDICT)

bench: .venv-test/installed
	@PATH="$(CURDIR)/.venv-test/bin:$$PATH" sh .ci/bench $(ARGS)

bench-history: .venv-test/installed
	@PATH="$(CURDIR)/.venv-test/bin:$$PATH" sh .ci/bench-history $(ARGS)

site: .venv-test/installed
	@$(IN_TEST) sphinx -q -n -W --keep-going -b html docs build/docs && $(IN_TEST) sphinx -q -b man docs build/man && \
	  echo "open build/docs/index.html, or man -l build/man/perfvcs.1"

docs: .venv-test/installed
	@PERFVCS_DOCUMENTS=run $(PYTEST) -n $(WORKERS) -k shows_what_happens tests/house/test_docs.py
	@$(MAKE) --no-print-directory site

lint: .venv-test/installed
	@failed=; $(RUFF); $(MYPY); $(TYPED); $(VERDICT)

demo/built: examples/building.py examples/demo/build.py examples/demo/perf.toml examples/demo/bench/sql.py .venv-demo/installed
	@rm -rf demo/sqlparse demo/pages
	@.venv-demo/bin/python examples/demo/build.py demo/sqlparse --downloads demo/downloads
	@touch $@

demo/skiplist/built: examples/building.py examples/skiplist/build.py $(wildcard examples/skiplist/cpp/*) $(wildcard examples/skiplist/python/*.*) .venv-demo/installed
	@rm -rf demo/skiplist
	@.venv-demo/bin/python examples/skiplist/build.py python demo/skiplist/python
	@.venv-demo/bin/python examples/skiplist/build.py cpp demo/skiplist/cpp
	@touch $@

.venv-demo/installed: .ci/venv setup.cfg pyproject.toml
	@sh .ci/venv .venv-demo . $(PYTHON)
	@touch $@

# The .pth file starts coverage in every Python process of the tests, above all in the console scripts that they start. In a folder that was
# deleted coverage cannot start, and would say so on the standard error that a test reads. A link stands where pip puts a finder, which would
# import pathlib and re into each of these processes before its program begins: 20 of 30 ms.
.venv-test/installed: .ci/venv setup.cfg pyproject.toml
	@sh .ci/venv .venv-test '.[dev]' $(PYTHON)
	@cd "$$(.venv-test/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" && rm -f __editable__*perfvcs* && \
	  ln -sfn "$(CURDIR)/perfvcs" perfvcs && \
	  echo 'import os; "COVERAGE_PROCESS_START" in os.environ and not os.readlink("/proc/self/cwd").endswith(" (deleted)") and __import__("coverage").process_startup()' \
	  >coverage_of_tests.pth
	@touch $@

fresh:
	@bash .ci/fresh

# Of the tests those of what is compiled, launched or traced; qemu has no ptrace and takes ten times as long.
ON_ARM64 = tests/launcher tests/collectors/test_time.py tests/collectors/test_bytecode.py tests/collectors/test_pytest_collector.py \
  tests/collectors/test_memory_collector.py tests/collectors/test_memory_python.py tests/collectors/test_memory_native.py
arm64:
	@FRESH_ARCH=arm64 bash .ci/fresh "make demo EXECUTIONS=3" "make test ARGS='$(ON_ARM64)'"

clean:
	rm -rf .venv-demo .venv-test demo build dist perfvcs.egg-info .coverage .coverage.* .coverage-skipped htmlcov
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
