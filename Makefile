# bertd: an HTTP inference server for BERT-family encoders on CPUs. `make` lists the targets.
#
# Objects are built out of tree, in build/MODE/; build/bertd is the program of the release mode.
# SANITIZE=address,undefined or SANITIZE=thread makes a mode of its own, and so does BACKEND, what
# computes the matrix products: onednn (Debian's, 2.6), onednn3 (PyPI's, 3.2) or cblas (OpenBLAS).

CC       ?= cc
SANITIZE ?=
BACKEND  ?= onednn
PREFIX   ?= /usr/local
DESTDIR  ?=
ARGS     ?=
V        ?=
CFLAGS   ?= -O2 -g

# All cores, unless -j says how many; a make below another shares the upper one's.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif

# What is made is named in one line; V=1 shows whole commands.
SAY := $(if $(V),@:,@echo " ")
Q   := $(if $(V),,@)

comma := ,
MODE  := $(if $(SANITIZE),$(subst $(comma),-,$(SANITIZE)),release)
OUT   := build/$(MODE)$(if $(filter-out onednn,$(BACKEND)),-$(BACKEND))

# Of each backend: sources, flags to compile and to link, Debian packages.
ONEDNN3          := build/onednn3
SOURCES_onednn   := $(wildcard engine/compute/gemm_onednn*.c)
LIBS_onednn      := -ldnnl -lgomp
PACKAGES_onednn  := libdnnl-dev
SOURCES_onednn3  := $(SOURCES_onednn)
FLAGS_onednn3    := -isystem $(ONEDNN3)/include
LIBS_onednn3     := -L$(ONEDNN3)/lib -Wl,-rpath,$(abspath $(ONEDNN3)/lib) -ldnnl -lgomp
PACKAGES_onednn3 := python3-venv
# Of OpenBLAS the build with threads: without, it has no locks. Each caller uses one.
OPENBLAS         := $(shell $(CC) -print-multiarch 2>/dev/null)/openblas-pthread
SOURCES_cblas    := engine/compute/gemm_cblas.c
FLAGS_cblas      := -isystem /usr/include/$(OPENBLAS)
LIBS_cblas       := -L/usr/lib/$(OPENBLAS) -lopenblas
PACKAGES_cblas   := libopenblas-pthread-dev
ifeq ($(SOURCES_$(BACKEND)),)
$(error BACKEND=$(BACKEND): onednn, onednn3 or cblas)
endif

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla -Werror
# A mode either watches itself or is hardened against what slips through.
MODE_FLAGS  := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
                 -fno-omit-frame-pointer,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 \
                 -fstack-protector-strong)
ALL_CFLAGS  := -std=c11 -D_GNU_SOURCE -I. -pthread -MMD -MP $(WARNINGS) $(FLAGS_$(BACKEND)) \
               $(CFLAGS) $(MODE_FLAGS)
ALL_LDFLAGS := -pthread $(LDFLAGS) $(if $(SANITIZE),$(MODE_FLAGS))
LIBS        := -lmicrohttpd -ljansson -lpcre2-8 $(LIBS_$(BACKEND)) -lnuma -lm

PROGRAM_PACKAGES := gcc libc6-dev libjansson-dev libmicrohttpd-dev libnuma-dev libpcre2-dev \
                    $(PACKAGES_$(BACKEND))
TEST_PACKAGES    := libcmocka-dev python3
BENCH_PACKAGES   := python3 python3-venv g++
FUZZ_PACKAGES    := clang libclang-rt-dev

MODEL := models/goemotions-minilm

ENGINE_SOURCES := $(filter-out engine/compute/gemm_%.c,$(wildcard engine/*.c engine/*/*.c)) \
                  $(SOURCES_$(BACKEND))
SERVER_SOURCES := $(filter-out server/main.c,$(wildcard server/*.c))
UNIT_SOURCES   := $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c tests/golden/test_*.c)
FUZZ_SOURCES   := $(wildcard tests/fuzz/fuzz_*.c)

ENGINE_LIB   := $(OUT)/libengine.a
SERVER_LIB   := $(OUT)/libserver.a
UNIT_TESTS   := $(UNIT_SOURCES:%.c=$(OUT)/%)
# What a matrix product has a say in.
PRODUCT_TESTS := $(filter $(foreach d,unit/compute unit/nodes unit/engine golden, \
                   $(OUT)/tests/$d/%),$(UNIT_TESTS))
FUZZ_REPLAYS := $(FUZZ_SOURCES:%.c=$(OUT)/%)
PARITY_DRIVER := $(OUT)/tests/parity/driver
LOAD_GENERATOR := $(OUT)/tests/bench/poisson
FUZZERS      := $(FUZZ_SOURCES:%.c=$(OUT)/%.fuzzer)
OBJECTS      := $(patsubst %.c,$(OUT)/%.o,$(ENGINE_SOURCES) $(SERVER_SOURCES) server/main.c \
                  $(UNIT_SOURCES) $(FUZZ_SOURCES) tests/fuzz/replay.c tests/parity/driver.c \
                  tests/bench/poisson.c)
RUN_TESTS     = BERTD=$(OUT)/bertd python3 tests/run.py --out $(OUT)

.PHONY: help deps deps-program deps-test deps-bench deps-fuzz all run test tests-built unit check \
        check-cblas check-onednn3 products-built tidy format peers bench bench-large bench-http \
        latency plans microbatches handover fuzz fixtures parity parity-fixtures parity-fuzz \
        tokenizer-bench image install clean FORCE
.DELETE_ON_ERROR:

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

# $(call packages,NAMES): installs what is missing of these Debian packages and says so.
define packages
@missing=; \
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then \
    echo "Not a Debian system: these packages, as Debian names them, must be there: $(1)"; exit 0; \
fi; \
for p in $(1); do \
    dpkg-query -W -f='$${db:Status-Status}\n' $$p 2>/dev/null | grep -qx installed || \
        missing="$$missing $$p"; \
done; \
[ -n "$$missing" ] || exit 0; \
root=; if [ "$$(id -u)" -ne 0 ]; then \
    command -v sudo >/dev/null || \
        { echo "Run as root, or install by hand:$$missing" >&2; exit 1; }; \
    root=sudo; \
fi; \
echo "Installing:$$missing"; \
$$root apt-get update -qq && \
$$root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $$missing </dev/null >/dev/null
endef

# One list at a time: two installers at once would wait for, or fail at, each other's lock.
deps: ## install the missing Debian packages for all targets
	$(call packages,$(sort $(PROGRAM_PACKAGES) $(TEST_PACKAGES) $(BENCH_PACKAGES)))
deps-program:
	$(call packages,$(PROGRAM_PACKAGES))
deps-test:
	$(call packages,$(PROGRAM_PACKAGES) $(TEST_PACKAGES))
deps-bench:
	$(call packages,$(PROGRAM_PACKAGES) $(BENCH_PACKAGES))
deps-fuzz:
	$(call packages,$(PROGRAM_PACKAGES) $(FUZZ_PACKAGES))

all: build/bertd ## build build/bertd

# The program is always the release mode's, also when asked for in another mode; of the backend that
# was asked for last.
ifeq ($(SANITIZE),)
build/bertd: $(OUT)/bertd FORCE
	$(Q)ln -f $< $@
else
build/bertd: FORCE
	@$(MAKE) --no-print-directory SANITIZE= $@
endif

run: deps-program ## install, build, serve the demo model (ARGS='--port 9000' adds options)
	@$(MAKE) --no-print-directory all
	build/bertd serve --model $(MODEL) $(ARGS)

test: deps-test ## install, build, run all tests
	@$(MAKE) --no-print-directory tests-built
	@$(RUN_TESTS)

check: deps-test ## all tests under sanitizers: make check SANITIZE=address,undefined (or thread)
	@test -n "$(SANITIZE)" || { echo "which? make check SANITIZE=address,undefined" >&2; exit 2; }
	@$(MAKE) --no-print-directory tests-built
	@# Of what was freed, the sanitizer keeps little: tests look at the memory of long runs.
	@BERTD_TEST_SHORT=1 ASAN_OPTIONS=quarantine_size_mb=16 $(RUN_TESTS)

# $(call check_backend,NAME): the tests of what products have a say in, with that backend; then its
# logits and its speed beside those of the default one. COMPARE has options of the comparison.
define check_backend
+@$(MAKE) --no-print-directory BACKEND=onednn build/$(MODE)/bertd
+@$(MAKE) --no-print-directory BACKEND=$(1) deps-program
+@$(MAKE) --no-print-directory BACKEND=$(1) products-built
@python3 tests/run.py --out build/$(MODE)-$(1) --only unit --match compute nodes engine golden
@python3 tests/backends/compare.py build/$(MODE)/bertd build/$(MODE)-$(1)/bertd $(COMPARE)
endef
COMPARE ?=

check-onednn3: deps-test ## test and measure with oneDNN 3 (downloads it into build/onednn3)
	$(call check_backend,onednn3)

check-cblas: deps-test ## test and measure with OpenBLAS
	$(call check_backend,cblas)

products-built: $(OUT)/bertd $(PRODUCT_TESTS)

tests-built: $(OUT)/bertd $(OUT)/bertd-faults $(UNIT_TESTS) $(FUZZ_REPLAYS) $(PARITY_DRIVER) \
             $(LOAD_GENERATOR)

unit: $(UNIT_TESTS) ## build and run the unit tests only
	@python3 tests/run.py --out $(OUT) --only unit

tidy: ## layering, file roles, banned calls, white space
	@python3 tests/run.py --out $(OUT) --only tidy

format: ## rewrite the C files as .clang-format says
	clang-format -i $(shell git ls-files '*.c' '*.h')

# Against other runtimes, from PyPI at pinned versions; results go to tests/bench/RESULTS.md.
PEERS_PYTHON := build/peers/bin/python
$(PEERS_PYTHON).ready: tests/bench/requirements.txt
	python3 -m venv build/peers
	build/peers/bin/pip install -q -r $<
	touch $@

peers: deps-bench $(PEERS_PYTHON).ready ## install the other runtimes, make the demo model's files
	@$(MAKE) --no-print-directory all $(LOAD_GENERATOR)
	$(PEERS_PYTHON) tests/bench/peer_setup.py

bench: peers ## against other runtimes: in process, then through HTTP; to tests/bench/RESULTS.md
	$(PEERS_PYTHON) tests/bench/peers.py $(ARGS)
	$(PEERS_PYTHON) tests/bench/served.py

bench-large: peers ## in process with models of the sizes of BERT base and large
	for m in base large; do $(PEERS_PYTHON) tests/bench/peers.py --model $$m --contenders 1 \
	    --cells $(BENCH_LARGE_CELLS) $(ARGS) || exit 1; done
BENCH_LARGE_CELLS ?= fixed,short,spread,one-128

bench-http: peers ## the server alone: against its own engine and Python servers
	$(PEERS_PYTHON) tests/bench/served.py $(ARGS)

latency: deps-bench ## p50, p99, p99.9 of the server at 50, 70 and 90 % of its capacity
	@$(MAKE) --no-print-directory all $(OUT)/tests/bench/poisson
	python3 tests/bench/latency.py $(ARGS)

plans: ## the automatic plan and all sensible ones by hand on this machine, in one run
	@$(MAKE) --no-print-directory all
	python3 tests/bench/plans.py $(ARGS)

microbatches: ## the automatic microbatch budget and others on this machine, in one run
	@$(MAKE) --no-print-directory all
	python3 tests/bench/microbatches.py $(ARGS)

handover: ## how long microbatches take from one stage to the next
	@$(MAKE) --no-print-directory all
	python3 tests/bench/handover.py $(ARGS)

fuzz: deps-fuzz ## fuzz every parser for FUZZ_SECONDS each
	@$(MAKE) --no-print-directory fuzz-built CC=clang \
	    SANITIZE=fuzzer-no-link,address,undefined
	@for f in $(FUZZ_SOURCES:tests/fuzz/fuzz_%.c=%); do \
	    mkdir -p build/fuzz/$$f && \
	    build/fuzzer-no-link-address-undefined/tests/fuzz/fuzz_$$f.fuzzer \
	        -max_total_time=$(FUZZ_SECONDS) -timeout=10 -max_len=65536 \
	        -artifact_prefix=build/fuzz/ build/fuzz/$$f tests/fuzz/corpus/$$f || exit 1; done
FUZZ_SECONDS ?= 60
fuzz-built: $(FUZZERS)

fixtures: ## make the reference values anew (downloads the pinned packages into build/reference)
	python3 -m venv build/reference
	build/reference/bin/pip install -q -r tests/golden/requirements.txt
	for g in tests/golden/generate_*.py; do build/reference/bin/python $$g || exit 1; done

# What the pinned library says of every tokenizer and text; made anew when its makers change.
PARITY_PYTHON := build/reference/bin/python
PARITY_MAKERS := $(wildcard tests/parity/*.py tests/parity/requirements.txt) \
                 tests/golden/generate_tokenizer_fixtures.py
$(PARITY_PYTHON).parity: tests/parity/requirements.txt
	python3 -m venv build/reference
	build/reference/bin/pip install -q -r tests/parity/requirements.txt
	mkdir -p build/parity/download
	build/reference/bin/pip download -q --no-deps --no-binary :all: -d build/parity/download \
	    $(shell grep sentencepiece tests/parity/requirements.txt)
	tar -xzf build/parity/download/sentencepiece-*.tar.gz -C build/parity/download
	touch $@
build/parity/rows/pool.json: $(PARITY_PYTHON).parity $(PARITY_MAKERS)
	$(PARITY_PYTHON) tests/parity/generate.py --out build/parity/rows --table

parity: deps-test build/parity/rows/pool.json ## compare every tokenizer with the pinned library
	@$(MAKE) --no-print-directory $(PARITY_DRIVER)
	PARITY_DRIVER=$(PARITY_DRIVER) python3 tests/parity/compare.py build/parity/rows $(ARGS)
	PARITY_DRIVER=$(PARITY_DRIVER) python3 tests/parity/bench.py --linear --rows build/parity/rows

parity-fixtures: $(PARITY_PYTHON).parity ## make the committed sample of the comparison anew
	$(PARITY_PYTHON) tests/parity/generate.py --out tests/parity/fixtures --sample

parity-fuzz: deps-test $(PARITY_PYTHON).parity ## random tokenizers against it, PARITY_SECONDS long
	@$(MAKE) --no-print-directory $(PARITY_DRIVER)
	PARITY_DRIVER=$(PARITY_DRIVER) $(PARITY_PYTHON) tests/parity/fuzz.py \
	    --seconds $(PARITY_SECONDS) $(ARGS)
PARITY_SECONDS ?= 600

tokenizer-bench: deps-test $(PARITY_PYTHON).parity ## speed of the tokenizer against the library's
	@$(MAKE) --no-print-directory $(PARITY_DRIVER)
	PARITY_DRIVER=$(PARITY_DRIVER) $(PARITY_PYTHON) tests/parity/bench.py $(ARGS)

image: ## build the container image and start it once
	tests/container/image.sh

install: all ## install program and demo model under DESTDIR/PREFIX
	install -D -m 755 build/bertd $(DESTDIR)$(PREFIX)/bin/bertd
	install -d $(DESTDIR)$(PREFIX)/share/bertd/$(notdir $(MODEL))
	install -m 644 $(MODEL)/* $(DESTDIR)$(PREFIX)/share/bertd/$(notdir $(MODEL))
	install -D -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/bertd/LICENSE

clean: ## remove build/
	rm -rf build

$(ONEDNN3)/installed: tests/backends/requirements.txt
	python3 -m venv $(ONEDNN3)
	$(ONEDNN3)/bin/pip install -q --disable-pip-version-check --no-deps -r $<
	touch $@
ifeq ($(BACKEND),onednn3)
$(OUT)/flags: | $(ONEDNN3)/installed
endif

# Rebuilds everything of a mode when its compiler or flags change.
$(OUT)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)' | cmp -s - $@ || \
	    echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)' >$@

# A static pattern: objects are no intermediate files, which make would delete or overlook.
$(OBJECTS): $(OUT)/%.o: %.c $(OUT)/flags
	@mkdir -p $(@D)
	$(SAY) $@
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(ENGINE_LIB): $(ENGINE_SOURCES:%.c=$(OUT)/%.o)
$(SERVER_LIB): $(SERVER_SOURCES:%.c=$(OUT)/%.o)
$(ENGINE_LIB) $(SERVER_LIB):
	$(Q)rm -f $@
	$(Q)ar rcs $@ $^

$(OUT)/bertd: $(OUT)/server/main.o $(SERVER_LIB) $(ENGINE_LIB)
	$(SAY) $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

# The program in which tests can make stages hang; see engine/base/fault.h. Its own object comes
# before the library's, which is then not taken.
$(OUT)/faults/stage.o: engine/flow/stage.c $(OUT)/flags
	@mkdir -p $(@D)
	$(SAY) $@
	$(Q)$(CC) $(ALL_CFLAGS) -DBERTD_FAULTS -c -o $@ $<

$(OUT)/bertd-faults: $(OUT)/server/main.o $(OUT)/faults/stage.o $(SERVER_LIB) $(ENGINE_LIB)
	$(SAY) $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(UNIT_TESTS): $(OUT)/%: $(OUT)/%.o $(SERVER_LIB) $(ENGINE_LIB)
	$(SAY) $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(LIBS)

$(PARITY_DRIVER): $(OUT)/tests/parity/driver.o $(ENGINE_LIB)
	$(SAY) $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(LOAD_GENERATOR): $(OUT)/tests/bench/poisson.o $(SERVER_LIB) $(ENGINE_LIB)
	$(SAY) $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(FUZZ_REPLAYS): $(OUT)/%: $(OUT)/%.o $(OUT)/tests/fuzz/replay.o $(SERVER_LIB) $(ENGINE_LIB)
	$(SAY) $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(FUZZERS): %.fuzzer: %.o $(SERVER_LIB) $(ENGINE_LIB)
	$(SAY) $@
	$(Q)$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LIBS)

-include $(OBJECTS:.o=.d) $(OUT)/faults/stage.d
