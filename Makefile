# make          builds everything into build/
# make help     lists the rest

CARGO ?= cargo
BUILD := $(CURDIR)/build
FISHPLATE = $(BUILD)/bin/fishplate
PROVIDER = $(BUILD)/lib/fishplate/libfishplate-fi.so
INTERPOSER = $(BUILD)/lib/fishplate/libfishplate-mpi.so
BASH_COMPLETION := share/bash-completion/completions
ZSH_COMPLETION := share/zsh/site-functions
FISH_COMPLETION := share/fish/vendor_completions.d
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
STACKS := mpich openmpi
PROGRAM_BUILD := $(CARGO) build
LIBRARY_BUILD := $(CARGO) rustc
# Where cargo puts what it builds. The libraries have a folder of their own, as two builds in one wait for each other.
TARGET = $${CARGO_TARGET_DIR:-target}
RELEASE = release
# `make wheel GLIBC=2.28` links for a glibc as old as that.
ifdef GLIBC
BUILD := $(CURDIR)/build/glibc-$(GLIBC)
PROGRAM_BUILD := cargo-zigbuild zigbuild --target x86_64-unknown-linux-gnu.$(GLIBC)
LIBRARY_BUILD := cargo-zigbuild rustc --target x86_64-unknown-linux-gnu.$(GLIBC)
RELEASE = x86_64-unknown-linux-gnu/release
endif
# Crates that Cargo.toml has compile fast for the program, and that are fast in the provider.
FAST := fishplate-rails fishplate-rails-ofi fishplate-rails-shm
# As a shared library alone: what is a Rust library as well is not optimized as a whole.
PROVIDER_ALONE = $(LIBRARY_BUILD) --quiet --release --crate-type cdylib --target-dir "$(TARGET)/libraries" \
  --config 'profile.release.lto="fat"' --config 'profile.release.debug="line-tables-only"' \
  $(foreach crate,$(FAST),--config 'profile.release.package.$(crate).opt-level=3' \
  --config 'profile.release.package.$(crate).codegen-units=1') -p fishplate-provider
# make V=1 shows every command, and what cargo says beyond warnings and errors.
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
export V
# Once it is there, little is left to build. Until then cargo says how many crates of the program it has built.
LONG = $(if $(wildcard $(FISHPLATE)),, (8 minutes of processor time; cargo counts the crates of the program))
QUIET = $(if $(filter 1,$(V)),,$(if $(wildcard $(FISHPLATE)),--quiet))

.PHONY: help build install wheel deb recipes release modulefile setup bench demo check lint test test-all test-code test-bench
.PHONY: test-fuzz test-report test-packages test-docs test-mpi test-mpi4py-all test-mpi4py-recorded test-cuts
.PHONY: test-ofi test-verbs test-release fuzz soak throughput
.PHONY: record-applications clean test-counts docs numbers
.DEFAULT_GOAL := build

help:
	@echo 'make                  the program and its two libraries: build/bin/fishplate, build/lib/fishplate/libfishplate-*.so'
	@echo 'make install          installs the build, manual pages and sources of the benchmarks below PREFIX (/usr/local)'
	@echo 'make wheel            a package for pip: build/wheel; GLIBC=2.28 makes one for older systems'
	@echo 'make deb              a package for Debian and Ubuntu: build/deb'
	@echo 'make recipes          a tarball, and recipes for Spack and EasyBuild: build/recipes; DOWNLOAD= (URL of the folder)'
	@echo 'make release          wheel, Debian package, tarball of the sources with all crates, sums: made, installed, used'
	@echo 'make modulefile       a module file for the installation below PREFIX: build/modulefiles'
	@echo 'make setup            MPI stacks into a folder of their own (FISHPLATE_CACHE, default ~/.cache/fishplate)'
	@echo 'make bench            the MPI benchmark programs and applications for each stack: build/{bench,apps}/STACK/'
	@echo 'make demo             MPI stacks over two unequal rails, side by side: a table and demo.html'
	@echo 'make docs             the documentation as a site with a search: build/docs; MkDocs comes from PyPI'
	@echo 'make check            before a commit: formatting, lints, documentation, tests without sockets'
	@echo 'make lint             formatting, lints and documentation alone'
	@echo 'make test             the next eight; must pass before a merge; about half an hour on two cores, build included'
	@echo 'make test-code          formatting, lints, documentation, licences, unit and integration tests'
	@echo 'make test-fuzz          hostile input, for half a minute'
	@echo 'make test-bench         the parts of benchmark programs and applications that need no MPI'
	@echo 'make test-counts        instructions of a short message, compared with recorded ones; needs valgrind'
	@echo 'make test-report        a report and a profile in a headless Chromium'
	@echo 'make test-packages      wheel, Debian package and recipes: made, installed, used'
	@echo 'make test-docs          the site of the documentation: links, examples'
	@echo 'make test-mpi           MPI programs in namespaces, the longest of the eight'
	@echo 'make test-all         make test, make fuzz, and the next six: an hour and a half more'
	@echo 'make test-cuts        random cuts of rails under MPI programs; CUTS=, CUTS_SEED='
	@echo 'make test-ofi         random cuts, policies and mpi4py over rails of a provider; CUTS=, CUTS_SEED='
	@echo 'make test-verbs       MPI over RDMA between two virtual machines with software adapters, some minutes'
	@echo 'make test-release       make release, which builds everything twice'
	@echo "make test-mpi4py-all  all of mpi4py's own suite"
	@echo "make test-mpi4py-recorded  that suite recorded and traced, and its traces predicted"
	@echo 'make fuzz             hostile input, for some minutes; SEED='
	@echo 'make soak             seeded faults in simulation for an hour; SECONDS=, FROM= (first seed)'
	@echo 'make record-applications  records the applications of fishplate reproduce anew, 20 minutes'
	@echo 'make numbers          writes the measured tables of README.md and docs/ anew from docs/records; MEASURE= (a name), RECORD='
	@echo 'make throughput       writes the table of simulated goodput anew, for review'
	@echo 'make clean            removes build/ and the files that cargo built'
	@echo
	@echo 'V=1 shows every command.'

# The provider beside the program: what is optimized as a whole keeps one processor busy. Its folder is made first, since two
# cargos that make `target` at once fail. Renamed into place, since running programs may have the old files open.
build:
	@echo 'Fishplate: the program and its libraries$(LONG)'
	$(Q)mkdir -p "$(TARGET)/libraries"
	$(Q)$(PROVIDER_ALONE) & provider=$$!; \
	  $(PROGRAM_BUILD) $(QUIET) --release -p fishplate-lab -p fishplate-interpose; program=$$?; wait $$provider && exit $$program
	$(Q)mkdir -p $(BUILD)/bin $(BUILD)/lib/fishplate
	$(Q)cp "$(TARGET)/$(RELEASE)/fishplate" $(FISHPLATE).new && mv $(FISHPLATE).new $(FISHPLATE)
	$(Q)cp "$(TARGET)/libraries/$(RELEASE)/libfishplate_fi.so" $(PROVIDER).new && mv $(PROVIDER).new $(PROVIDER)
	$(Q)cp "$(TARGET)/$(RELEASE)/libfishplate_mpi.so" $(INTERPOSER).new && mv $(INTERPOSER).new $(INTERPOSER)
	$(Q)$(FISHPLATE) write-manual $(BUILD)/share/man/man1
	$(Q)mkdir -p $(BUILD)/$(BASH_COMPLETION) $(BUILD)/$(ZSH_COMPLETION) $(BUILD)/$(FISH_COMPLETION)
	$(Q)$(FISHPLATE) completion bash > $(BUILD)/$(BASH_COMPLETION)/fishplate
	$(Q)$(FISHPLATE) completion zsh > $(BUILD)/$(ZSH_COMPLETION)/_fishplate
	$(Q)$(FISHPLATE) completion fish > $(BUILD)/$(FISH_COMPLETION)/fishplate.fish

# Below PREFIX, what `make` has built, without debugging information, and the sources of benchmarks and applications.
# DESTDIR is where packages are made.
PREFIX ?= /usr/local
DESTDIR ?=
TO = $(DESTDIR)$(PREFIX)
install:
	$(Q)test -x $(FISHPLATE) || { echo 'make install: nothing is built yet: run `make` first' >&2; exit 1; }
	$(Q)mkdir -p $(TO)/bin $(TO)/lib/fishplate $(TO)/share/fishplate $(TO)/share/doc/fishplate
	$(Q)install -s -m 755 $(FISHPLATE) $(TO)/bin/fishplate
	$(Q)install -s -m 644 $(PROVIDER) $(INTERPOSER) $(TO)/lib/fishplate
	$(Q)cd $(BUILD)/share && find . -type f -exec install -D -m 644 {} $(TO)/share/{} ';'
	$(Q)find bench apps -name '*.[ch]' -o -name Makefile -o -name '*.mk' | while read -r file; do \
	  install -D -m 644 "$$file" "$(TO)/share/fishplate/$$file" || exit 1; done
	$(Q)install -m 644 README.md CHANGELOG.md LICENSE LICENSE-APACHE LICENSE-MIT $(TO)/share/doc/fishplate

# Packages are made of what `make install` puts into a folder.
STAGE = $(BUILD)/stage
.PHONY: $(STAGE)
$(STAGE): build
	$(Q)rm -rf $(STAGE)
	$(Q)$(MAKE) --no-print-directory install DESTDIR=$(STAGE) PREFIX=/usr

wheel deb: %: $(STAGE)
	$(Q)packaging/package $* $(STAGE)/usr $(BUILD)/$*

# DOWNLOAD= is the URL of the folder where clusters find the tarball.
recipes:
	$(Q)packaging/package recipes $(BUILD)/recipes $(DOWNLOAD)

release:
	$(Q)packaging/release $(BUILD)/release

# Of what is installed below PREFIX.
modulefile:
	$(Q)test -x $(PREFIX)/bin/fishplate || { echo 'make modulefile: $(PREFIX)/bin/fishplate is not there: run' \
	  '`make install` with this PREFIX first' >&2; exit 1; }
	$(Q)mkdir -p $(BUILD)/modulefiles/fishplate
	$(Q)$(PREFIX)/bin/fishplate env --format modulefile > $(BUILD)/modulefiles/fishplate/$(VERSION)
	@echo $(BUILD)/modulefiles/fishplate/$(VERSION)

setup: build
	$(Q)$(FISHPLATE) setup

bench: setup $(STACKS:%=bench-%)

.PHONY: $(STACKS:%=bench-%)
$(STACKS:%=bench-%): bench-%: setup
	@echo 'Benchmark programs for $*: build/bench/$*'
	$(Q)$(MAKE) --no-print-directory -C bench MPICC="$$($(FISHPLATE) setup --where $*)/mpicc" OUT=$(BUILD)/bench/$*
	@echo 'Applications for $*: build/apps/$*'
	$(Q)$(MAKE) --no-print-directory -C apps MPICC="$$($(FISHPLATE) setup --where $*)/mpicc" OUT=$(BUILD)/apps/$*

# What is missing is told before the build. Of the benchmark programs and applications, those that it needs.
demo:
	$(Q)packaging/preflight "make demo"
	$(Q)$(MAKE) --no-print-directory setup
	$(Q)for stack in $(STACKS); do mpicc="$$($(FISHPLATE) setup --where $$stack)/mpicc"; \
	  $(MAKE) --no-print-directory -C bench PROGRAMS='latency bandwidth' MPICC="$$mpicc" OUT=$(BUILD)/bench/$$stack && \
	  $(MAKE) --no-print-directory -C apps PROGRAMS=is MPICC="$$mpicc" OUT=$(BUILD)/apps/$$stack || exit 1; done
	$(Q)$(FISHPLATE) demo --output demo.html

docs: build
	$(Q)packaging/site/build $(FISHPLATE) $(BUILD)/docs

# What computes, two at a time, then MPI programs, whose ranks poll: beside them all takes several times as long.
test:
	$(Q)$(MAKE) --no-print-directory -j 2 -Oline test-code test-fuzz test-bench test-counts test-report test-packages test-docs \
	  bench
	$(Q)$(MAKE) --no-print-directory test-mpi

# Also what is slow and rarely finds anything: more random input, cuts of rails, all of mpi4py's suite, virtual machines, a release.
test-all: test
	$(Q)$(MAKE) --no-print-directory fuzz test-cuts test-ofi test-mpi4py-all test-mpi4py-recorded test-verbs test-release

# What the engine, its wire format, the models and the documentation say; without sockets, namespaces and long runs.
CHECKED := fishplate-collectives fishplate-engine fishplate-link fishplate-profile ofi-abi
check: lint
	$(CARGO) test --quiet $(CHECKED:%=-p %)
	$(CARGO) test --quiet -p fishplate-sim --test scenarios
	$(CARGO) test --quiet -p fishplate-lab --test architecture --test documentation

lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

# What is tested is compiled by Clippy's compiler, which looks at it on the way: all is compiled once.
LINTED := RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__
test-code:
	$(CARGO) fmt --all --check
	$(LINTED) $(CARGO) test --workspace
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps
	tests/deny

test-bench:
	$(MAKE) --no-print-directory -C bench check OUT=$(BUILD)/bench
	$(MAKE) --no-print-directory -C apps check OUT=$(BUILD)/apps

# Instructions of short messages; skipped, with the reason, where there is no valgrind.
test-counts: build
	$(LINTED) bench/message_counts.py

# Hostile input, as much as fits into half a minute (fuzz/README.md). After the build, as cargo does one of the two at a time.
test-fuzz: build
	$(CARGO) run --release -p fishplate-fuzz -- checksums --runs 5000
	$(CARGO) run --release -p fishplate-fuzz -- decoder --runs 5000000
	$(CARGO) run --release -p fishplate-fuzz -- handshake --runs 500000
	$(CARGO) run --release -p fishplate-fuzz -- engine --runs 50000
	$(CARGO) run --release -p fishplate-fuzz -- matching --runs 50000
	$(CARGO) run --release -p fishplate-fuzz -- ofi --runs 10000
	$(CARGO) run --release -p fishplate-fuzz -- shared-memory --runs 10000

# Twenty times as much or more, and a million changed bits. Another SEED makes other inputs.
SEED ?= 1
fuzz:
	$(CARGO) run --release -p fishplate-fuzz -- checksums --runs 600000 --seed $(SEED)
	$(CARGO) run --release -p fishplate-fuzz -- decoder --runs 100000000 --seed $(SEED)
	$(CARGO) run --release -p fishplate-fuzz -- handshake --runs 10000000 --seed $(SEED)
	$(CARGO) run --release -p fishplate-fuzz -- engine --runs 1000000 --seed $(SEED)
	$(CARGO) run --release -p fishplate-fuzz -- matching --runs 1000000 --seed $(SEED)
	$(CARGO) run --release -p fishplate-fuzz -- ofi --runs 200000 --seed $(SEED)
	$(CARGO) run --release -p fishplate-fuzz -- shared-memory --runs 200000 --seed $(SEED)

# A report and a profile in a headless Chromium; skipped, with the reason, where there is none.
test-report: build
	tests/report/test_report.py
	tests/report/test_profile.py

# Packages of what is built.
test-packages: setup
	tests/packages/test_preflight.py
	tests/packages/test_packages.py
	tests/packages/test_release.py Mistakes

# The site of the documentation; skipped, with the reason, where MkDocs cannot be had from PyPI.
test-docs: build
	tests/packages/test_site.py

# What a release consists of, built without a network as well; each is installed and used.
test-release: release
	tests/packages/test_release.py

# Real MPI programs over namespaces.
test-mpi: bench
	tests/run

# All of mpi4py's own suite, and whether what is left out fails with stock MPICH as well.
test-mpi4py-all: bench
	tests/run --mpi4py-all test_mpi4py

# The same suite under `fishplate profile --trace`; MODULES= runs some of it.
test-mpi4py-recorded: bench
	tests/run test_recorder_at_length

# Random cuts of rails under real MPI programs; CUTS_SEED= makes those of an earlier run again.
CUTS := 30
test-cuts: bench
	tests/run --cuts $(CUTS) test_failover.RandomCuts test_one_sided.RandomCuts

# Rails of libfabric's tcp provider, alone and beside others: random cuts, all policies, mpi4py's own suite.
test-ofi: bench
	tests/run --cuts $(CUTS) test_ofi_at_length

# Two virtual machines of Debian's packages, which are fetched into the cache folder at the first time.
test-verbs: bench
	$(Q)$(MAKE) --no-print-directory --silent -C tests/programs MPICC="$$($(FISHPLATE) setup --where mpich)/mpicc" \
	  OUT=$(BUILD)/tests
	tests/verbs/test_verbs.py

# Seeds that nobody has run yet, unless told otherwise.
SECONDS := 3600
FROM = $$(date +%s)000
soak: build
	$(FISHPLATE) simulate --from $(FROM) --seconds $(SECONDS)

throughput: build
	$(FISHPLATE) simulate --throughput > lab/sim/tests/snapshots/throughput.txt
	git diff --stat lab/sim/tests/snapshots/throughput.txt

# MEASURE= is the name of a record in docs/records that is measured again first, RECORD= a record that is put there first.
numbers: build
	$(Q)$(FISHPLATE) write-numbers $(if $(MEASURE),--measure $(MEASURE)) $(if $(RECORD),--keep $(RECORD)) .

record-applications: build bench
	lab/sim/applications/record
	git diff --stat lab/sim/applications

clean:
	$(CARGO) clean
	rm -rf $(BUILD)
