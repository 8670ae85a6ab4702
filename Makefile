# GNU make. `make` builds, `make demo` shows what the project does, `make check` tests it, `make install` installs it.
# Other targets are for those who change it (CONTRIBUTING): golden, format-check, tidy, coverage, torture, tableless, chromium,
# callgrind, gprof-programs, ocaml, exports, page, sweep, soak, bench, truth, fuzz, dist, deb, deb-check.
# On Debian, packages that are missing are installed first (DEPS=no: never). The mkfile does the same with Plan 9's mk.
#
#   CXX=g++-12               another compiler
#   WERROR=1                 warnings are errors
#   SANITIZE=address,undefined   profld and prof with sanitizers, in a build folder of their own
#   PREFIX=/usr/local DESTDIR=   where `make install` puts things
#   TESTS="unit cli"         what `make coverage` runs: some tests, not all
#   V=1                      show the commands

include sources
# The files that its patterns name.
$(foreach list,PROFLD_SOURCES PROF_SOURCES PAGE_FILES TARGET_SOURCES LIBPROF_SOURCES SAMPLER_SOURCES AUDIT_SOURCES HEADERS UNIT_TESTS INTEGRATION_TESTS FUZZ_TARGETS MANUALS,\
  $(eval $(list) := $(sort $(wildcard $($(list))))))
VERSION := $(file <VERSION)

SANITIZE =
WERROR =
PREFIX = /usr/local
DESTDIR =
DEPS = yes
TORTURE =
FUZZ_CXX = clang++
BUILD = build$(if $(SANITIZE),/sanitize)
# The user's own flags, after ours.
CXXFLAGS =
LDFLAGS =

# As many jobs as there are processors, unless -j says otherwise.
MAKEFLAGS += --jobs=$(shell nproc) --no-builtin-rules
Q = $(if $(V),,@)

# What ccache has to know to take a precompiled header for unchanged.
export CCACHE_SLOPPINESS = pch_defines,time_macros
flags = $(CXXFLAGS_COMMON) $(if $(WERROR),-Werror) -MMD -MP
host_flags = $(flags) $(test_flags) -DPROFLD_VERSION=\"$(VERSION)\" $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) $(CXXFLAGS)
# linker-rewrite/precompiled.h, for g++ and our own flags; mk and ccache find it in the same place.
precompiled = $(if $(SANITIZE)$(CXXFLAGS)$(findstring clang,$(CXX)),,build/precompiled/precompiled.h)
host_link = $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)

objects = $(patsubst %,$(BUILD)/obj/%.o,$(1))
runtime_objects = $(patsubst %,$(BUILD)/runtime/%.o,$(1))
profld_objects = $(call objects,$(PROFLD_SOURCES))
# The page that prof --html writes around a profile.
page_object = $(BUILD)/page/page.o
prof_objects = $(call objects,$(PROF_SOURCES)) $(page_object)
shared_objects = $(call objects,$(SHARED_SOURCES))
libprof_objects = $(call runtime_objects,$(LIBPROF_SOURCES))
audit_objects = $(call runtime_objects,$(AUDIT_SOURCES))
sampler_objects = $(libprof_objects) $(call runtime_objects,$(SAMPLER_SOURCES))
# It is static, and so it cannot have sanitizers: objects of its own.
target_objects = $(patsubst %,$(BUILD)/target/%.o,$(TARGET_SOURCES) $(TARGET_SHARED_SOURCES))
unit_objects = $(call objects,$(UNIT_TESTS))
integration_objects = $(call objects,$(INTEGRATION_TESTS))
tested_objects = $(filter-out %/main.cc.o,$(profld_objects) $(prof_objects)) $(call objects,$(TARGET_TESTED_SOURCES))
# Of prof's commands, what the fuzz targets need: the rest starts programs and reads command lines.
fuzzed_commands = $(filter prof/commands/options/% prof/commands/showing/%,$(PROF_SOURCES)) prof/commands/copies/command.cc \
	prof/commands/copies/dynamic_linker.cc
fuzz_objects = $(patsubst %,$(BUILD)/fuzz/obj/%.o,$(filter-out %/main.cc prof/tui/% prof/commands/% prof/instructions/commands/%,$(PROFLD_SOURCES) $(PROF_SOURCES)) $(fuzzed_commands)) $(page_object)
fuzz_target_objects = $(patsubst %,$(BUILD)/fuzz/obj/%.o,$(FUZZ_TARGETS))
fuzz_targets = $(patsubst tests/fuzz/%.cc,$(BUILD)/fuzz/%,$(FUZZ_TARGETS))
all_objects = $(profld_objects) $(prof_objects) $(target_objects) $(sampler_objects) $(audit_objects) $(unit_objects) $(integration_objects) $(fuzz_objects) $(fuzz_target_objects)

profld = $(BUILD)/bin/profld
prof = $(BUILD)/bin/prof
target = $(BUILD)/bin/proftarget
libprof = $(BUILD)/lib/libprof.so
sampler = $(BUILD)/lib/libprof-sampler.so
audit = $(BUILD)/lib/libprof-audit.so
unit = $(BUILD)/tests/unit
integration = $(BUILD)/tests/integration

.PHONY: all demo check check-all golden callgrind gprof-programs ocaml exports page soak sweep torture switches tableless chromium bench bench-answer bench-histograms bench-peers bench-libraries bench-trace bench-inlined-traces truth fuzz fuzz-check format-check \
	tidy coverage install uninstall dist deb deb-check clean build-packages demo-packages check-packages bench-packages callgrind-packages ocaml-packages sweep-packages fuzz-packages format-packages \
	tidy-packages coverage-packages exports-packages tableless-packages chromium-packages deb-packages deb-check-packages
all: $(profld) $(prof) $(target) $(libprof) $(sampler) $(audit)

$(profld): $(profld_objects)
	@mkdir -p $(@D); echo "LINK  $@"
	$(Q)$(CXX) $(host_link) -o $@ $^ $(PROFLD_LIBS)

$(prof): $(prof_objects) $(shared_objects)
	@mkdir -p $(@D); echo "LINK  $@"
	$(Q)$(CXX) $(host_link) -o $@ $^ $(PROF_LIBS)

$(target): $(target_objects)
	@mkdir -p $(@D); echo "LINK  $@"
	$(Q)$(CXX) $(LDFLAGS) -static -o $@ $^

$(libprof): $(libprof_objects)
$(sampler): $(sampler_objects)
$(audit): $(audit_objects)
$(libprof) $(sampler) $(audit):
	@mkdir -p $(@D); echo "LINK  $@"
	$(Q)$(CXX) $(LDFLAGS_RUNTIME) $(if $(filter $(audit),$@),$(LDFLAGS_AUDIT)) -o $@ $^

$(unit): $(unit_objects)
$(integration): $(integration_objects) $(call objects,$(TEST_MAIN))
$(unit) $(integration): $(tested_objects)
	@mkdir -p $(@D); echo "LINK  $@"
	$(Q)$(CXX) $(host_link) -o $@ $^ $(PROFLD_LIBS) $(PROF_LIBS)

$(BUILD)/runtime/%.cc.o: %.cc | build-packages
	@mkdir -p $(@D); echo "CXX   $<"
	$(Q)$(CXX) $(flags) $(CXXFLAGS_RUNTIME) -c -o $@ $<

$(BUILD)/runtime/%.S.o: %.S | build-packages
	@mkdir -p $(@D); echo "AS    $<"
	$(Q)$(CXX) $(flags) -fPIC -c -o $@ $<

$(BUILD)/target/%.cc.o: %.cc | build-packages
	@mkdir -p $(@D); echo "CXX   $<"
	$(Q)$(CXX) $(flags) -DPROFLD_VERSION=\"$(VERSION)\" $(CXXFLAGS) -c -o $@ $<

$(BUILD)/obj/%.cc.o: %.cc | build-packages
	@mkdir -p $(@D); echo "CXX   $<"
	$(Q)$(CXX) $(host_flags) $(if $(precompiled),-include $(precompiled) -fpch-preprocess) -c -o $@ $<

$(page_object): prof/page/assemble $(PAGE_FILES) | build-packages
	@mkdir -p $(@D); echo "PAGE  $@"
	$(Q)prof/page/assemble $(@D) $(PAGE_FILES)
	$(Q)$(CXX) -c -o $@ $(@D)/page.s

# One for each level of optimization: g++ takes the one in the folder that fits.
$(profld_objects) $(prof_objects) $(shared_objects): $(precompiled:%=%.gch/program)
$(unit_objects) $(integration_objects): $(precompiled:%=%.gch/test)
build/precompiled/precompiled.h: linker-rewrite/precompiled.h
	@mkdir -p $(@D)
	$(Q)echo '#include "$<"' >$@

build/precompiled/precompiled.h.gch/%: build/precompiled/precompiled.h VERSION | build-packages
	@mkdir -p $(@D); echo "GCH   $@"
	$(Q)$(CXX) $(filter-out -MMD -MP,$(host_flags)) -x c++-header -o $@ $<

$(filter %/main.cc.o,$(profld_objects) $(prof_objects) $(target_objects)): VERSION

$(unit_objects) $(integration_objects) build/precompiled/precompiled.h.gch/test: test_flags = $(CXXFLAGS_TESTS)
$(unit_objects) $(integration_objects): | check-packages

# libFuzzer comes with clang.
# Without what undefined checks at each use of a pointer: most of it ends in address's report as well, and it makes the objects
# twice as large. `make check SANITIZE=address,undefined` has all checks. At -O1 it takes nearly twice as long to compile,
# and that is most of the time of `make fuzz-check`.
fuzz_flags = -fsanitize=address,undefined -fno-sanitize=null,alignment,vptr,object-size -fno-sanitize-recover=all -fno-omit-frame-pointer
fuzz_object_flags = -DPROFLD_VERSION=\"$(VERSION)\" -O0 $(fuzz_flags) -fsanitize=fuzzer-no-link
fuzz_precompiled = $(BUILD)/fuzz/precompiled.pch
$(fuzz_precompiled): linker-rewrite/precompiled.h VERSION | fuzz-packages
	@mkdir -p $(@D); echo "PCH   $@"
	$(Q)$(FUZZ_CXX) $(filter-out -MMD -MP,$(flags)) $(fuzz_object_flags) -x c++-header -fpch-instantiate-templates -o $@ $<

$(BUILD)/fuzz/obj/%.cc.o: %.cc $(fuzz_precompiled) | fuzz-packages
	@mkdir -p $(@D); echo "FUZZ  $<"
	$(Q)$(FUZZ_CXX) $(flags) $(fuzz_object_flags) -include-pch $(fuzz_precompiled) -c -o $@ $<

.SECONDARY: $(fuzz_target_objects)
$(BUILD)/fuzz/objects.a: $(fuzz_objects)
	$(Q)rm -f $@; ar rcsT $@ $^

$(BUILD)/fuzz/%: $(BUILD)/fuzz/obj/tests/fuzz/%.cc.o $(BUILD)/fuzz/objects.a
	@echo "LINK  $@"
	$(Q)$(FUZZ_CXX) $(fuzz_flags) -fsanitize=fuzzer -o $@ $^ $(PROFLD_LIBS) $(PROF_LIBS)

-include $(all_objects:.o=.d)

# All of it: who has seen the demo goes on with `prof run --libs' or `prof trace'.
demo: all | demo-packages
	@tests/demo $(BUILD)

check: all $(unit) $(integration) | check-packages
	@SANITIZERS=$(SANITIZE) tests/run $(BUILD)

# The same, each test in all its ways: half an hour more.
check-all: all $(unit) $(integration) | check-packages
	@WAYS=all tests/run $(BUILD)

# Writes anew what tests/e2e/reading/golden.sh expects; look at the difference before it is committed.
golden: all | check-packages
	@GOLDEN=write tests/run $(BUILD) golden

callgrind: all | check-packages callgrind-packages
	@tests/callgrind $(BUILD)

ocaml: all | check-packages ocaml-packages
	@tests/ocaml $(BUILD)

# What gprof and gcov say of programs that prof says something of, too.
gprof-programs: all | check-packages callgrind-packages
	@tests/gprof_programs $(BUILD)

# Pages of prof --html, in Chromium.
page: all | check-packages chromium-packages
	@tests/page/run $(BUILD)

# Exports, opened by large programs that read them: go tool pprof and Graphviz.
exports: all | check-packages exports-packages
	@tests/export_viewers $(BUILD)

# TORTURE="-O2 gcc static" and the like narrow it down: tests/torture/run tells more.
torture: all | check-packages
	@tests/torture/run $(BUILD) $(TORTURE)

# SWITCHES="1-200 gcc -O2 pie" and the like: tests/switches/run tells more.
switches: all | check-packages
	@tests/switches/run $(BUILD) $(SWITCHES)

# Programs without unwind tables and symbols, compared with the same with tables. TABLELESS="sort git" for some of Debian's. The files in
# tests/tableless tell more.
TABLELESS =
tableless: all | check-packages tableless-packages
	@status=0; tests/tableless/run $(BUILD) $(TABLELESS) || status=1; \
	$(if $(TABLELESS),,tests/tableless/hard_cases $(BUILD) || status=1; tests/tableless/built $(BUILD) || status=1;) exit $$status

# Chromium, rewritten, shows five pages.
chromium: all | check-packages chromium-packages
	@tests/tableless/chromium $(BUILD)

# Goes on until interrupted, or something is found: tests/fuzz/run tells more.
fuzz: all $(fuzz_targets)
	@tests/fuzz/run $(BUILD) 0

# The same runs each time, as .ci/run does it.
fuzz-check: all $(fuzz_targets) | check-packages
	@tests/fuzz/run $(BUILD) 1000

# Every program of this machine, with LIBS=yes also with its libraries; needs root.
sweep: all | sweep-packages
	@LIBS=$(LIBS) BLOCKS=$(BLOCKS) tests/sweep/run $(BUILD)

# Everything that is hard on the runtime at once, for SOAK_SECONDS, or for SOAK_KILLS kills; with BLOCKS=yes without hooks, with BLOCKS=latency with
# such that leave.
SOAK_SECONDS = 60
SOAK_KILLS = 0
soak: all | check-packages
	@BLOCKS=$(BLOCKS) tests/soak/run $(BUILD) $(SOAK_SECONDS) $(SOAK_KILLS)

bench: all | check-packages bench-packages
	@mkdir -p $(BUILD)/bench
	$(Q)$(CXX) $(CXXFLAGS_COMMON) -O2 -o $(BUILD)/bench/hooks tests/bench/hooks.cc -Wl,--no-as-needed $(libprof) -Wl,-rpath,$(abspath $(BUILD)/lib)
	$(Q)$(CXX) $(CXXFLAGS_COMMON) -O2 -o $(BUILD)/bench/truth tests/bench/truth.cc
	$(Q)$(CXX) $(CXXFLAGS_COMMON) -o $(BUILD)/bench/contexts tests/programs/contexts.cc
	$(Q)$(CXX) $(CXXFLAGS_COMMON) -O2 -fno-optimize-sibling-calls -pthread -o $(BUILD)/bench/calls tests/bench/calls.cc
	$(Q)$(CXX) $(CXXFLAGS_COMMON) -O2 -o $(BUILD)/bench/templates tests/bench/templates.cc
	@tests/bench/run $(BUILD)

# The true times of ten programs, and what prof says of them. TRUTH="collatz lua" for some of them; tests/bench/true_times tells more.
truth_sample = $(BUILD)/bench/sample
$(truth_sample): tests/bench/sample.cc $(filter-out %/main.cc.o,$(prof_objects)) $(shared_objects)
	@mkdir -p $(@D); echo "LINK  $@"
	$(Q)$(CXX) $(filter-out -MMD -MP,$(host_flags)) $(host_link) -o $@ $^ $(PROF_LIBS)

truth: all $(truth_sample) | check-packages bench-packages
	@tests/bench/true_times $(BUILD) $(TRUTH)

# Where PROFTYPE=sample finds the time of ten programs, and what it costs, beside gcc -pg. HISTOGRAMS="lua templates" for some.
bench-answer: all | check-packages bench-packages
	@tests/bench/answer $(BUILD) $(ANSWER)

bench-histograms: all | check-packages bench-packages
	@tests/bench/histograms $(BUILD) $(HISTOGRAMS)

# What profld --trace costs. TRACES="lua" for some.
bench-inlined-traces: all | check-packages bench-packages
	@tests/bench/inlined_traces $(BUILD) $(TRACES)

# Beside gcc -pg, uftrace, callgrind and perf.
bench-peers: all | check-packages bench-packages
	@tests/bench/peers $(BUILD)

# Instructions a second that prof trace steps: by gdbserver, by proftarget with buffers of all sizes, by blocks.
bench-trace: all | check-packages
	@tests/bench/trace $(BUILD)

# What profiling libraries, too, costs; and where the time of some programs goes by prof and by perf. As root.
bench-libraries: all | check-packages bench-packages
	@tests/bench/libraries $(BUILD)
	@tests/bench/where_time $(BUILD)

format-check: | format-packages
	$(Q)clang-format --dry-run -Werror $(filter %.cc,$(PROFLD_SOURCES) $(PROF_SOURCES) $(TARGET_SOURCES) $(LIBPROF_SOURCES) $(SAMPLER_SOURCES) $(AUDIT_SOURCES) $(UNIT_TESTS) $(INTEGRATION_TESTS) $(FUZZ_TARGETS)) $(HEADERS)

# A source is looked at again when its object has been made anew, which knows the headers. g++ knows attributes that clang does not.
tidy: $(patsubst %,$(BUILD)/tidy/%,$(filter %.cc,$(PROFLD_SOURCES) $(PROF_SOURCES) $(TARGET_SOURCES) $(LIBPROF_SOURCES) $(SAMPLER_SOURCES) $(AUDIT_SOURCES)))

# The analyzer does not go through the code of the standard library's functions, and gives up a function sooner than it would
# by itself: that is three quarters of the time, for nothing that was ever found.
tidy_command = clang-tidy --quiet $< -- $(CXXFLAGS_COMMON) -Wno-unknown-attributes -Xclang -analyzer-config -Xclang c++-stdlib-inlining=false,max-nodes=20000
$(BUILD)/tidy/libprof/%: libprof/% $(BUILD)/runtime/libprof/%.o .clang-tidy libprof/.clang-tidy | tidy-packages
	@mkdir -p $(@D); echo "TIDY  $<"
	$(Q)$(tidy_command) $(CXXFLAGS_RUNTIME) 2>$@.log || { cat $@.log; exit 1; }
	@touch $@

$(BUILD)/tidy/prof/instructions/target/%: prof/instructions/target/% $(BUILD)/target/prof/instructions/target/%.o .clang-tidy | tidy-packages
	@mkdir -p $(@D); echo "TIDY  $<"
	$(Q)$(tidy_command) -DPROFLD_VERSION=\"$(VERSION)\" 2>$@.log || { cat $@.log; exit 1; }
	@touch $@

$(BUILD)/tidy/%: % $(BUILD)/obj/%.o .clang-tidy | tidy-packages
	@mkdir -p $(@D); echo "TIDY  $<"
	$(Q)$(tidy_command) -DPROFLD_VERSION=\"$(VERSION)\" 2>$@.log || { cat $@.log; exit 1; }
	@touch $@

# TESTS="unit cli" for some tests only.
TESTS =
coverage: | check-packages coverage-packages
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/coverage CXXFLAGS="$(CXXFLAGS) --coverage -fprofile-update=atomic" \
	  LDFLAGS="$(LDFLAGS) --coverage" all $(BUILD)/coverage/tests/unit $(BUILD)/coverage/tests/integration
	@tests/coverage $(BUILD)/coverage $(TESTS)

# profld finds ../lib/profld/libprof.so from where it itself is. The feet of the manual pages tell the version.
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/profld
	install -m 755 $(profld) $(prof) $(target) $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(libprof) $(sampler) $(audit) $(DESTDIR)$(PREFIX)/lib/profld
	for page in $(MANUALS); do \
	  sed 's/^\.Os$$/.Os profld $(VERSION)/' $$page | \
	    install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/} || exit 1; done
	install -D -m 644 docs/completion/prof.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/prof
	ln -sf prof $(DESTDIR)$(PREFIX)/share/bash-completion/completions/profld
	install -D -m 644 docs/completion/_prof $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_prof
	install -D -m 644 docs/completion/prof.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/prof.fish
	ln -sf prof.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/profld.fish

# What install has put there; folders stay, but for the one that only this project uses.
uninstall:
	for file in $(INSTALLED); do rm -f $(DESTDIR)$(PREFIX)/$$file || exit 1; done
	for page in $(MANUALS); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${page##*.}/$${page##*/} || exit 1; done
	[ ! -d $(DESTDIR)$(PREFIX)/lib/profld ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$(PREFIX)/lib/profld

# A tarball of the last commit, which builds without git.
dist:
	@.ci/dist $(BUILD)

# A package for Debian 12, made of that tarball.
deb: | build-packages deb-packages
	@.ci/deb $(BUILD)

# Installs it in a fresh Debian, profiles, and removes it; needs root.
deb-check: deb | deb-check-packages
	@tests/deb/run $(BUILD)

clean:
	rm -rf $(BUILD)

build-packages demo-packages check-packages bench-packages callgrind-packages ocaml-packages sweep-packages fuzz-packages format-packages \
tidy-packages coverage-packages exports-packages tableless-packages chromium-packages deb-packages deb-check-packages:
	@$(if $(filter no,$(DEPS)),:,.ci/packages $($(shell echo $(@:-packages=)_PACKAGES | tr a-z- A-Z_)))
