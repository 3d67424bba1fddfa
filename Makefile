# bertd: an HTTP inference server for BERT-family encoders on CPUs. `make` lists the targets.

CC       ?= cc
SANITIZE ?=
MODE     := $(if $(SANITIZE),$(subst $(comma),-,$(SANITIZE)),release)
comma    := ,
OUT      := build/$(if $(SANITIZE),sanitize-$(subst $(comma),-,$(SANITIZE)),release)

CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wcast-qual -Wwrite-strings -Wundef -Wvla -Werror
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -I. -pthread -MMD -MP $(WARNINGS) $(CFLAGS) \
              $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer)
LIBS     := -lmicrohttpd -ljansson -ldnnl -lgomp -lm
ALL_LDFLAGS := -pthread $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE))

ENGINE_SOURCES := $(wildcard engine/*.c engine/*/*.c)
SERVER_SOURCES := $(filter-out server/main.c,$(wildcard server/*.c))
UNIT_SOURCES   := $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c)

ENGINE_LIB := $(OUT)/libengine.a
SERVER_LIB := $(OUT)/libserver.a
UNIT_TESTS := $(UNIT_SOURCES:%.c=$(OUT)/%)

.PHONY: help all unit clean
.DELETE_ON_ERROR:

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

all: build/bertd ## build build/bertd

build/bertd: $(OUT)/bertd
	ln -f $< $@

$(OUT)/bertd: $(OUT)/server/main.o $(SERVER_LIB) $(ENGINE_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(ENGINE_LIB): $(ENGINE_SOURCES:%.c=$(OUT)/%.o)
$(SERVER_LIB): $(SERVER_SOURCES:%.c=$(OUT)/%.o)
%.a:
	rm -f $@
	ar rcs $@ $^

$(OUT)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(UNIT_TESTS): $(OUT)/%: $(OUT)/%.o $(SERVER_LIB) $(ENGINE_LIB)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ -lcmocka $(LIBS)

unit: $(UNIT_TESTS) ## build and run the unit tests
	@for t in $(UNIT_TESTS); do $$t || exit 1; done

clean: ## remove build/
	rm -rf build

-include $(shell find build -name '*.d' 2>/dev/null)
