# muster: a plain GNU Makefile. Objects in build/; no configure step.
#
#   make            build/muster and build/muster-agent
#   make NOWEB=1    build/muster without the page: needs no node and no npm
#   make agent      build/muster-agent alone: needs gcc, make, libevent, libcurl, zstd; no npm
#   make lib        build/libmuster.so.0 alone: needs gcc and make
#   make dist       build/muster-VERSION.tar.gz: the sources and the built page; needs no node and no npm
#   make check      unit tests, include rules, golden files     SAN=1: address + undefined   THREAD=1: thread
#   make fuzz       fuzz targets; FUZZ=1 CC=clang: libFuzzer                     make lint  clang-format, clang-tidy, cppcheck
#   make install    PREFIX=/usr/local DESTDIR=                    make bench  figures against peers

# Rules that make brings along are all tried for each of some thousand files: without them it is ready in a fifth of the time.
MAKEFLAGS += -r

VERSION := 0.1.0
# `git archive` writes the commit into the file COMMIT; a checkout has it from git. `make COMMIT=...` where there is neither.
COMMIT  := $(or $(shell sed -n 's/^\([0-9a-f]\{8\}\)[0-9a-f]*$$/\1/p' COMMIT 2>/dev/null),$(shell GIT_OPTIONAL_LOCKS=0 git describe --always --dirty --abbrev=8 --exclude='*' 2>/dev/null))
CC      ?= gcc
OBJCOPY ?= objcopy
CCACHE  := $(shell command -v ccache 2>/dev/null)
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
DESTDIR ?=

# A variant has its own folder, so that switching costs nothing.
VARIANT := $(if $(SAN),-san)$(if $(THREAD),-tsan)$(if $(FUZZ),-fuzz)$(if $(findstring clang,$(CC)),-clang)
O       := build/obj$(VARIANT)
BIN     := build$(if $(VARIANT),/bin$(VARIANT))

WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wpointer-arith -Wvla -Wundef $(if $(WERROR),-Werror)
, := ,
SANFLAG := $(if $(SAN),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)$(if $(THREAD),-fsanitize=thread)$(if $(FUZZ),-fsanitize=fuzzer-no-link$(,)address$(,)undefined -fno-sanitize-recover=undefined)
# What makes a mistake harder to use, as far as this compiler knows it, for the machine it compiles for.
knows    = $(shell $(CC) -Werror -O2 $(1) -S -x c -o /dev/null /dev/null 2>/dev/null && echo '$(1)')
TARGET  := $(shell $(CC) -dumpmachine)
CET     := $(if $(filter x86_64-%,$(TARGET)),$(call knows,-fcf-protection))
HARDEN  := $(call knows,-fstack-clash-protection) $(CET) $(if $(filter aarch64-%,$(TARGET)),$(call knows,-mbranch-protection=standard)) \
           -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(if $(call knows,-D_FORTIFY_SOURCE=3 -include features.h),3,2)
# For x86_64 gcc zeroes structs of some hundred bytes with one instruction, which takes longer to start than stores do.
ZEROING := $(if $(SANFLAG),,$(call knows,-mmemset-strategy=vector_loop:256:noalign$(,)libcall:-1:noalign))
# Sanitizers report at -Og what they report at -O2, and it compiles in half the time; their tests are not compiled for
# speed at all (and without optimisation gcc takes every number that is printed for the longest there is).
CFLAGS  ?= $(if $(SAN),-Og -g1,$(if $(THREAD),-O1 -g1,-O2 -g))
TESTFLAG := $(if $(SAN)$(THREAD),-O0 $(if $(findstring clang,$(CC)),,-Wno-format-truncation))
CPPFLAGS += -D_GNU_SOURCE -DMUSTER_VERSION='"$(VERSION)"' -Isrc -I$(O)/gen
# An assembled file ends with src/base/asm_notes.inc.
ALL_ASFLAGS := $(if $(SANFLAG),,$(CET))
ALL_CFLAGS := -std=gnu11 $(CFLAGS) $(WARN) $(SANFLAG) -fstack-protector-strong $(if $(SANFLAG),,$(HARDEN)) $(ZEROING) -fPIE -ffunction-sections -fdata-sections -pthread
# clang takes overflow checks of 128 bits from its own library.
ALL_LDFLAGS := $(LDFLAGS) $(SANFLAG) $(if $(and $(SANFLAG),$(findstring clang,$(CC))),--rtlib=compiler-rt --unwindlib=libgcc) -pie -pthread -Wl,--gc-sections -Wl,-z,relro,-z,now

# ---- what belongs to which program ------------------------------------------------------------------------------------
# The lean agent: these folders, and what it needs of others. (It plays no recorded trace and reads no stream of frames.)
AGENT_OUT := src/collect/trace.c src/wire/stream.c
AGENT_SRC := $(filter-out $(AGENT_OUT),$(wildcard $(addprefix src/,base/*.c model/*.c codec/*.c collect/*.c wire/*.c agent/*.c))) \
             $(addprefix src/,$(addprefix uplink/,backlog.c badge.c hubs.c packets.c segment.c sender.c spool.c) net/http.c net/curl_lib.c cmd/agent.c agent_main.c)
LIB_SRC   := $(wildcard src/*/*.c) src/features.c
ASSETS    := $(wildcard src/*/*.S)

AGENT_OBJ := $(AGENT_SRC:%.c=$(O)/%.o)
# NOWEB=1: without the page, where there is no node and no npm (packaging/container).
WEB_OBJ   := $(if $(NOWEB),$(O)/packaging/no-web.o,$(O)/web/table.o $(O)/web/bytes.o)
LIB_OBJ   := $(LIB_SRC:%.c=$(O)/%.o) $(ASSETS:%.S=$(O)/%.o) $(WEB_OBJ)
MAIN_OBJ  := $(O)/src/main.o

# libcurl is loaded at run time (src/net/curl_lib.h says why): only its header is needed here.
AGENT_LIBS := -Wl,-Bstatic -levent_core -lzstd -Wl,-Bdynamic -ldl -lm
LIBS       := -levent -levent_openssl -levent_pthreads -lssl -lcrypto -lzstd -lz -lsqlite3 -ljansson -lyaml -lresolv -ldl -lm -lncursesw -ltinfo

.PHONY: all dist agent lib check unit fuzz lint install bench bench-programs clean man includes stub tool threads list-threads FORCE
all: $(BIN)/muster $(BIN)/muster-agent lib man
agent: $(BIN)/muster-agent

$(BIN)/muster: $(MAIN_OBJ) $(LIB_OBJ)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(BIN)/muster-agent: $(AGENT_OBJ)
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) $(if $(SANFLAG),,-s) -o $@ $^ $(AGENT_LIBS)

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(CCACHE) $(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(LAST) -MMD -MP -c -o $@ $<
$(O)/tests/%.o: LAST := -Itests/kit $(TESTFLAG)
# What most time is spent in while tests run.
$(O)/src/base/%.o $(O)/src/draw/%.o $(O)/src/store/%.o: LAST := $(if $(filter -Og,$(CFLAGS)),-O1)
# Loops over many numbers: several at once.
$(O)/src/codec/%.o $(O)/src/store/sink.o $(O)/src/store/together.o: LAST := $(if $(filter -O2,$(CFLAGS)),-O3)$(if $(filter -Og,$(CFLAGS)),-O1)

$(O)/src/base/version.o: LAST := -DMUSTER_COMMIT='"$(COMMIT)"' -DMUSTER_BUILD='"$(VERSION)$(COMMIT:%=+%)"'
$(O)/src/base/version.o: $(O)/gen/commit
$(O)/gen/commit: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION) $(COMMIT)' | cmp -s - $@ || echo '$(VERSION) $(COMMIT)' >$@

$(O)/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_ASFLAGS) -c -o $@ $<

# ---- libmuster: what it needs of the tree, position independent; nothing but muster.h's functions is seen outside --------
SO_SRC := $(wildcard src/lib/*.c src/collect/nvml*.c) $(addprefix src/collect/,collect.c replay.c trace.c worker.c) \
          src/model/event.c src/model/metric.c src/model/work.c $(addprefix src/base/,buf.c clock.c csv.c err.c file.c json.c mem.c plain.c rand.c str.c)
SO_OBJ := $(SO_SRC:%.c=$(O)/pic/%.o) $(O)/pic/src/collect/trace_data.o
SO     := $(BIN)/libmuster.so
lib: $(SO)
$(SO): $(SO).0
	ln -sf $(<F) $@
$(SO).0: $(SO_OBJ) src/lib/muster.map
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) $(SANFLAG) -shared -pthread -Wl,-soname,libmuster.so.0 -Wl,--version-script=src/lib/muster.map -Wl,--gc-sections -Wl,-z,relro,-z,now -Wl,-z,nodelete $(if $(SANFLAG),,-Wl,-z,defs) -o $@ $(SO_OBJ) -ldl -lm
$(O)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(CCACHE) $(CC) $(CPPFLAGS) $(filter-out -fPIE,$(ALL_CFLAGS)) -fPIC -MMD -MP -c -o $@ $<
$(O)/pic/%.o: %.S data/h200-trace.csv
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_ASFLAGS) -c -o $@ $<
-include $(wildcard $(O)/pic/src/*/*.d)

$(O)/src/nodes/assets.o: src/nodes/install.sh packaging/systemd/muster-agent.service
$(O)/src/compat/vesta_asset.o: src/compat/vesta_history.py

# ---- the page: web/ and its libraries, hashed, gzipped and taken into the binary (docs/internals/web.md) ---------------
# A release has it built, in web/built (make dist); such a tree needs no node and no npm.
PAGE    := $(if $(wildcard web/built/table.c),web/built,build/web)
WEB_SRC := $(shell find web -name node_modules -prune -o -type f -print)
build/web/table.c build/web/bytes.S &: $(WEB_SRC) tools/build-web tools/fetch-web
	tools/fetch-web
	node tools/build-web web build/web
$(O)/web/%.o: $(PAGE)/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(O)/web/%.o: $(PAGE)/%.S
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_ASFLAGS) -Wa,-I$(<D) -c -o $@ $<

-include $(LIB_OBJ:.o=.d) $(MAIN_OBJ:.o=.d) $(O)/src/agent_main.d

# ---- tests ---------------------------------------------------------------------------------------------------------------
# A unit test lies in a folder named as what it tests; its own name is the only one of its kind.
UNIT_SRC := $(wildcard tests/*/test_*.c)
UNIT     := $(notdir $(UNIT_SRC:.c=))
any      := %
unit_obj  = $(filter $(any)/$(1).o,$(UNIT_SRC:%.c=$(O)/%.o))
FUZZERS  := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
# A fake NVML, scripted by a file: as of today, an old driver's, and one with 535's wider process records.
STUB     := $(BIN)/libnvml-stub.so $(BIN)/libnvml-stub-old.so $(BIN)/libnvml-stub-535.so
# Small programs that integration tests use.
TOOL     := $(patsubst tests/tool/%.c,$(BIN)/tool/%,$(wildcard tests/tool/*.c))
unit: $(BIN)/unit/all
stub: $(STUB) $(BIN)/libclock-shim.so
tool: $(TOOL)

$(BIN)/tool/%: $(O)/tests/tool/%.o $(BIN)/libmuster-all.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(BIN)/libmuster-all.a $(LIBS)

$(BIN)/libmuster-all.a: $(LIB_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

# All files in one program (tests/kit/unit.c says why): each one's main gets a name of its own, and what else it defines stays its own. `make build/unit/test_str` links one file alone.
$(BIN)/unit/all $(BIN)/unit/test_nvml $(BIN)/unit/test_nvml_slow $(BIN)/unit/test_lib_nvml: | $(STUB)
$(BIN)/unit/all: $(O)/tests/kit/unit.o $(UNIT:%=$(O)/tests/named/%.o) $(BIN)/libmuster-all.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka
# The files whose tests have threads that meet, with no more of the tree than they need: `make THREAD=1 threads` is for the thread sanitizer.
THREADS     := test_store test_shared test_archive test_store_crash test_store_disk test_usage_store test_wandb_store test_backup test_workers
THREADS_SRC := $(wildcard $(addprefix src/,base/*.c model/*.c codec/*.c wire/*.c sql/*.c store/*.c)) src/hub/decode.c src/base/workers.c $(addprefix src/backup/,backup.c bundle.c restore.c) $(wildcard src/wandb/store*.c) $(addprefix src/wandb/,carry.c claim.c)
threads: $(BIN)/threads/all
list-threads:
	@echo $(THREADS)
$(BIN)/threads/all: $(O)/tests/kit/threads.o $(THREADS:%=$(O)/tests/named/%.o) $(BIN)/libmuster-threads.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) -lcmocka
$(O)/tests/kit/threads.o: tests/kit/unit.c $(O)/gen/threads.def
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -DUNIT_LIST='"threads.def"' -c -o $@ $<
$(BIN)/libmuster-threads.a: $(THREADS_SRC:%.c=$(O)/%.o)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

.SECONDEXPANSION:
$(BIN)/unit/test_%: $$(call unit_obj,test_$$*) $(BIN)/libmuster-all.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $< $(BIN)/libmuster-all.a $(LIBS) -lcmocka
$(O)/tests/named/%.o: $$(call unit_obj,$$*)
	@mkdir -p $(@D)
	$(OBJCOPY) --redefine-sym main=unit_$* --keep-global-symbol=unit_$* $< $@
$(O)/tests/kit/unit.o: $(O)/gen/unit.def
$(O)/tests/fuzz/all.o: $(O)/gen/fuzz.def
# A list changes with the files there are, not with what is in them.
$(O)/gen/unit.def: LIST = $(UNIT)
$(O)/gen/threads.def: LIST = $(THREADS)
$(O)/gen/fuzz.def: LIST = $(FUZZERS)
$(O)/gen/%.def: FORCE
	@mkdir -p $(@D)
	@printf 'X(%s)\n' $(LIST) >$@.new; if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
.SECONDARY: $(UNIT_SRC:%.c=$(O)/%.o) $(FUZZERS:%=$(O)/tests/fuzz/%.o)

STUB_SRC := tests/stub/nvml_stub.c tests/stub/nvml_stub_script.c
$(BIN)/libnvml-stub-old.so: STUB_FLAG := -DOLD_DRIVER
$(BIN)/libnvml-stub-535.so: STUB_FLAG := -DWIDE_V3
$(STUB): $(STUB_SRC) tests/stub/nvml_stub.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) $(STUB_FLAG) -fvisibility=hidden -fPIC -shared -pthread -o $@ $(STUB_SRC)

# Preloaded, it sets a program's clock.
$(BIN)/libclock-shim.so: tests/stub/clock_shim.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(CFLAGS) $(WARN) -fvisibility=hidden -fPIC -shared -o $@ $<

-include $(UNIT_SRC:%.c=$(O)/%.d) $(wildcard $(O)/tests/kit/*.d $(O)/tests/tool/*.d)

includes:
	tools/check-includes

check: all unit fuzz stub tool includes
	tests/runner --bin $(BIN) $(if $(SAN),--san) $(CHECK)

# `make FUZZ=1 CC=clang fuzz` builds each target with libFuzzer; without FUZZ=1 all are in one program that runs files through them once.
fuzz: $(if $(FUZZ),$(FUZZERS:%=$(BIN)/fuzz/%),$(BIN)/fuzz/all)
$(BIN)/fuzz/all: $(O)/tests/fuzz/all.o $(FUZZERS:%=$(O)/tests/fuzz/named/%.o) $(BIN)/libmuster-all.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
$(BIN)/fuzz/fuzz_%: $(O)/tests/fuzz/fuzz_%.o $(BIN)/libmuster-all.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -fsanitize=fuzzer -o $@ $< $(BIN)/libmuster-all.a $(LIBS)
$(O)/tests/fuzz/named/%.o: $(O)/tests/fuzz/%.o
	@mkdir -p $(@D)
	$(OBJCOPY) --redefine-sym LLVMFuzzerTestOneInput=run_$* --keep-global-symbol=run_$* $< $@
-include $(wildcard $(O)/tests/fuzz/*.d)

lint:
	tools/lint

# ---- man pages, install ---------------------------------------------------------------------------------------------
man: $(BIN)/muster
	@mkdir -p build/man
	@$(BIN)/muster man build/man

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 $(DESTDIR)$(PREFIX)/share/man/man7 $(DESTDIR)$(PREFIX)/lib/systemd/system $(DESTDIR)$(PREFIX)/lib/sysusers.d $(DESTDIR)$(PREFIX)/share/doc/muster
	install -m 755 build/muster build/muster-agent $(DESTDIR)$(PREFIX)/bin/
	install -m 644 build/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 build/man/*.5 $(DESTDIR)$(PREFIX)/share/man/man5/
	install -m 644 build/man/*.7 $(DESTDIR)$(PREFIX)/share/man/man7/
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	build/muster completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/muster
	build/muster completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_muster
	build/muster completion fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/muster.fish
	for u in packaging/systemd/*.service packaging/systemd/*.timer; do sed 's#/usr/local/bin#$(PREFIX)/bin#g' $$u > $(DESTDIR)$(PREFIX)/lib/systemd/system/$$(basename $$u); done
	install -m 644 packaging/systemd/muster-agent.sysusers $(DESTDIR)$(PREFIX)/lib/sysusers.d/muster-agent.conf
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 755 build/libmuster.so.0 $(DESTDIR)$(LIBDIR)/
	ln -sf libmuster.so.0 $(DESTDIR)$(LIBDIR)/libmuster.so
	install -m 644 src/lib/muster.h $(DESTDIR)$(PREFIX)/include/
	install -d $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 src/lib/libmuster.3 $(DESTDIR)$(PREFIX)/share/man/man3/
	sed 's#@PREFIX@#$(PREFIX)#; s#@LIBDIR@#$(LIBDIR)#; s#@VERSION@#$(VERSION)#' src/lib/muster.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/muster.pc
	install -m 644 README.md CHANGES.md LICENSE packaging/muster.yaml packaging/agent.env $(DESTDIR)$(PREFIX)/share/doc/muster/

BENCH := $(patsubst bench/%.c,$(BIN)/bench/%,$(filter-out bench/telemetry.c,$(wildcard bench/*.c)))
$(BIN)/bench/%: $(O)/bench/%.o $(O)/bench/telemetry.o $(BIN)/libmuster-all.a
	@mkdir -p $(@D)
	$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)
bench-programs: all $(BENCH)
-include $(wildcard $(O)/bench/*.d)

bench: bench-programs
	bench/run

# Of the commit that is checked out; the page of the work tree must be the same.
DIST := muster-$(VERSION)
dist: $(PAGE)/table.c
	@git diff --quiet HEAD -- || { echo "muster: commit the changes first: a release is made of a commit" >&2; exit 2; }
	rm -rf build/dist
	mkdir -p build/dist
	git archive --prefix=$(DIST)/ HEAD | tar -x -C build/dist
	cp -r $(PAGE) build/dist/$(DIST)/web/built
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$$(git log -1 --format=%ct) -C build/dist -c $(DIST) | gzip -9n >build/$(DIST).tar.gz
	rm -rf build/dist

clean:
	rm -rf build
