# make          builds everything into build/
# make help     lists the rest

CARGO ?= cargo
BUILD := $(CURDIR)/build
FISHPLATE := $(BUILD)/bin/fishplate
PROVIDER := $(BUILD)/lib/fishplate/libfishplate-fi.so
INTERPOSER := $(BUILD)/lib/fishplate/libfishplate-mpi.so
STACKS := mpich openmpi
# As a shared library alone: what is a Rust library as well is not optimized as a whole.
LIBRARY := $(CARGO) --config 'profile.release.lto="fat"' rustc --release --crate-type cdylib
# Where cargo puts what it builds.
TARGET = "$${CARGO_TARGET_DIR:-target}/release"
# make V=1 shows every command, and what cargo says beyond warnings and errors.
V ?= 0
ifeq ($(V),1)
QUIET :=
else
Q := @
QUIET := --quiet
endif
export V
# Once it is there, little is left to build.
LONG = $(if $(wildcard $(FISHPLATE)),, (about 2 minutes))

.PHONY: help build setup bench demo check lint test test-code test-bench test-fuzz test-report test-mpi test-mpi4py-all
.PHONY: test-cuts fuzz soak throughput clean
.DEFAULT_GOAL := build

help:
	@echo 'make                  the program and its two libraries: build/bin/fishplate, build/lib/fishplate/libfishplate-*.so'
	@echo 'make setup            MPI stacks into a folder of their own (FISHPLATE_CACHE, default ~/.cache/fishplate)'
	@echo 'make bench            the MPI benchmark programs and applications for each stack: build/{bench,apps}/STACK/'
	@echo 'make demo             MPI stacks over two unequal rails, side by side: a table and demo.html'
	@echo 'make check            for the minute before a commit: formatting, lints, documentation, tests without sockets'
	@echo 'make lint             formatting, lints and documentation alone'
	@echo 'make test             all tests: the five that follow'
	@echo 'make test-code          formatting, lints, documentation, licences, unit and integration tests'
	@echo 'make test-fuzz          hostile input, for half a minute'
	@echo 'make test-bench         benchmark programs and applications, what needs no MPI'
	@echo 'make test-report        a report and a profile in a headless Chromium'
	@echo 'make test-mpi           MPI programs in namespaces, a quarter of an hour'
	@echo 'make test-cuts        random cuts of rails under MPI programs; CUTS=, CUTS_SEED='
	@echo "make test-mpi4py-all  all of mpi4py's own suite"
	@echo 'make fuzz             hostile input, for some minutes; SEED='
	@echo 'make soak             seeded faults in simulation for an hour; SECONDS=, FROM= (first seed)'
	@echo 'make throughput       writes the table of simulated goodput anew, for review'
	@echo 'make clean            removes build/ and what cargo built'
	@echo
	@echo 'V=1 shows every command.'

# Renamed into place, since running programs may have the old files open.
build:
	@echo 'Fishplate: the program and its libraries$(LONG)'
	$(Q)$(CARGO) build $(QUIET) --release -p fishplate-lab
	$(Q)$(LIBRARY) $(QUIET) -p fishplate-provider
	$(Q)$(LIBRARY) $(QUIET) -p fishplate-interpose
	$(Q)mkdir -p $(BUILD)/bin $(BUILD)/lib/fishplate
	$(Q)cp $(TARGET)/fishplate $(FISHPLATE).new && mv $(FISHPLATE).new $(FISHPLATE)
	$(Q)cp $(TARGET)/libfishplate_fi.so $(PROVIDER).new && mv $(PROVIDER).new $(PROVIDER)
	$(Q)cp $(TARGET)/libfishplate_mpi.so $(INTERPOSER).new && mv $(INTERPOSER).new $(INTERPOSER)

setup: build
	$(Q)$(FISHPLATE) setup

bench: setup $(STACKS:%=bench-%)

.PHONY: $(STACKS:%=bench-%)
$(STACKS:%=bench-%): bench-%: setup
	@echo 'Benchmark programs for $*: build/bench/$*'
	$(Q)$(MAKE) --no-print-directory -C bench MPICC="$$($(FISHPLATE) setup --where $*)/mpicc" OUT=$(BUILD)/bench/$*
	@echo 'Applications for $*: build/apps/$*'
	$(Q)$(MAKE) --no-print-directory -C apps MPICC="$$($(FISHPLATE) setup --where $*)/mpicc" OUT=$(BUILD)/apps/$*

demo: bench
	$(Q)$(FISHPLATE) demo --output demo.html

test: test-code test-fuzz test-bench test-report test-mpi

# What the engine, its wire format, the models and the documentation say; without sockets, namespaces and long runs.
CHECKED := fishplate-collectives fishplate-engine fishplate-link fishplate-profile ofi-abi
check: lint
	$(CARGO) test --quiet $(CHECKED:%=-p %)
	$(CARGO) test --quiet -p fishplate-lab --test architecture --test documentation

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

test-code: lint
	$(CARGO) test --workspace
	tests/deny

test-bench:
	$(MAKE) --no-print-directory -C bench check OUT=$(BUILD)/bench
	$(MAKE) --no-print-directory -C apps check OUT=$(BUILD)/apps

# Hostile input, as much as fits into half a minute (fuzz/README.md).
test-fuzz:
	$(CARGO) run --release -p fishplate-fuzz -- decoder --runs 10000000
	$(CARGO) run --release -p fishplate-fuzz -- handshake --runs 1000000
	$(CARGO) run --release -p fishplate-fuzz -- engine --runs 100000
	$(CARGO) run --release -p fishplate-fuzz -- shared-memory --runs 20000

# Ten times as much. Another SEED makes other inputs.
SEED ?= 1
fuzz:
	$(CARGO) run --release -p fishplate-fuzz -- decoder --runs 100000000 --seed $(SEED)
	$(CARGO) run --release -p fishplate-fuzz -- handshake --runs 10000000 --seed $(SEED)
	$(CARGO) run --release -p fishplate-fuzz -- engine --runs 1000000 --seed $(SEED)
	$(CARGO) run --release -p fishplate-fuzz -- shared-memory --runs 200000 --seed $(SEED)

# A report and a profile in a headless Chromium; skipped, with the reason, where there is none.
test-report: build
	tests/report/test_report.py
	tests/report/test_profile.py

# Real MPI programs over namespaces.
test-mpi: bench
	tests/run

# All of mpi4py's own suite, and whether what is left out fails with stock MPICH as well.
test-mpi4py-all: bench
	tests/run --mpi4py-all test_mpi4py

# Random cuts of rails under real MPI programs; CUTS_SEED= makes those of an earlier run again.
CUTS := 30
test-cuts: bench
	tests/run --cuts $(CUTS) test_failover.RandomCuts

# Seeds that nobody has run yet, unless told otherwise.
SECONDS := 3600
FROM = $$(date +%s)000
soak: build
	$(FISHPLATE) simulate --from $(FROM) --seconds $(SECONDS)

throughput: build
	$(FISHPLATE) simulate --throughput > crates/sim/tests/snapshots/throughput.txt
	git diff --stat crates/sim/tests/snapshots/throughput.txt

clean:
	$(CARGO) clean
	rm -rf $(BUILD)
