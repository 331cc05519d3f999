# The front door. Each target that is meant for people has a line after ##; `make help` shows them.

SEEDS ?= 10000
OFFICE_SEEDS ?= 1000
FROM ?= 1
FUZZ_SECONDS ?= 60
PREFIX ?= /usr/local

MAKEFLAGS += --no-print-directory
.NOTPARALLEL:  # what is set up comes before what is built; ninja uses all cores by itself
.DEFAULT_GOAL := help
.PHONY: help setup build install run kafka test bench sim mutants asan tsan fuzz lint format check quick clean \
        screenshots setup-run setup-test setup-check test-programs

help: ## show this list
	@echo "usage: make TARGET"
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  \1 \2/p' Makefile | awk '{t=$$1; $$1=""; printf "  %-9s%s\n", t, $$0}'

setup: ## install what is missing for make test (scripts/setup check: for make check too)
	@scripts/setup test

build: setup-run build/release/build.ninja ## build the program: build/bartleby
	@cmake --build build/release --target bartleby
	@ln -sfn release/bin/bartleby build/bartleby

install: build ## install program, headers and library under PREFIX=/usr/local (DESTDIR too)
	@cmake --install build/release --prefix $(PREFIX) >build/install.log || { cat build/install.log; exit 1; }
	@echo "installed under $(DESTDIR)$(PREFIX): try $(PREFIX)/bin/bartleby version"

run: build ## build and start a server with the embedded log: nothing else is needed
	@build/bartleby serve

kafka: setup-test ## start an Apache Kafka on loopback, in build/kafka (scripts/kafka stop build/kafka ends it)
	@scripts/kafka start build/kafka
	@echo "try: build/bartleby serve --kafka $$(cat build/kafka/bootstrap)"

test: setup-test build test-programs ## run all tests that a change must pass
	@scripts/web --modules
	@python3 tests/support/run_tests.py

quick: setup-test build/dev/build.ninja ## while working: rebuild, run the engine's and the unit tests
	@cmake --build build/dev --target quick
	@python3 tests/support/run_tests.py --build build/dev --only sim_tests --only unit_tests --results ''

bench: setup-test build/release/build.ninja build/simrel/build.ninja ## measure; writes build/bench/results.json
	@cmake --build build/simrel --target sim
	@ln -sfn simrel/bin/sim build/sim
	@cmake --preset release >build/release/configure.log
	@cmake --build build/release --target bench
	@mkdir -p build/bench
	@build/release/bin/bench

sim: setup-test build/simrel/build.ninja ## simulate SEEDS=10000 lives of a worker and OFFICE_SEEDS=1000 of an office, from seed FROM=1
	@cmake --build build/simrel --target sim
	@ln -sfn simrel/bin/sim build/sim
	@build/sim --office --seeds $(OFFICE_SEEDS) --from $(FROM)
	@build/sim --seeds $(SEEDS) --from $(FROM)

mutants: setup-test build/simrel/build.ninja ## break engine and office in known ways; the simulation must catch each
	@cmake --build build/simrel --target sim
	@ln -sfn simrel/bin/sim build/sim
	@build/sim --mutants
	@build/sim --office --mutants

asan: setup-test build/asan/build.ninja ## all test programs under the address and undefined-behaviour sanitizers
	@cmake --build build/asan
	@python3 tests/support/run_tests.py --build build/asan --programs --seeds 300 --results build/asan/test-results.json

tsan: setup-test build/tsan/build.ninja ## all test programs under the thread sanitizer
	@cmake --build build/tsan
	@python3 tests/support/run_tests.py --build build/tsan --programs --seeds 300 --results build/tsan/test-results.json

fuzz: setup-check build/fuzz/build.ninja ## run each fuzz target for FUZZ_SECONDS=60
	@cmake --build build/fuzz
	@scripts/fuzz $(FUZZ_SECONDS)

screenshots: setup-test build ## write every page of the web UI to docs/screenshots
	@scripts/web --modules
	@node tests/web/screenshots.mjs build/bartleby docs/screenshots

lint: setup-check build/clang/build.ninja ## formatting, clang-tidy, shellcheck
	@scripts/lint

format: setup-check ## format all C++ sources
	@scripts/format

check: setup-check ## the long proof: both compilers, sanitizers, long runs of processes, made-up requests, coverage, mutants, 200000 seeds, fuzzing
	@scripts/check

clean: ## remove everything that was built
	rm -rf build

setup-run:
	@scripts/setup run

setup-test:
	@scripts/setup test

setup-check:
	@scripts/setup check

test-programs: setup-test build/simrel/build.ninja
	@cmake --build build/simrel
	@if [ -e build/simrel/bin/sim ]; then ln -sfn simrel/bin/sim build/sim; fi

# Each preset configures its own folder, once; from then on ninja sees by itself when CMake must run again.
build/%/build.ninja: CMakePresets.json
	@mkdir -p build/$*
	@cmake --preset $* >build/$*/configure.log 2>&1 || { cat build/$*/configure.log; exit 1; }
	@touch $@
