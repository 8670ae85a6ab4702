# Plan 9's mk (Debian package 9base): /usr/lib/plan9/bin/mk builds, mk demo, mk check, mk install, mk clean.
# Sources, flags and packages come from the file that the Makefile reads too.

<sources
# The files that its patterns name.
PROFLD_SOURCES=`{echo $PROFLD_SOURCES}
PROF_SOURCES=`{echo $PROF_SOURCES}
PAGE_FILES=`{echo $PAGE_FILES}
TARGET_SOURCES=`{echo $TARGET_SOURCES}
LIBPROF_SOURCES=`{echo $LIBPROF_SOURCES}
SAMPLER_SOURCES=`{echo $SAMPLER_SOURCES}
AUDIT_SOURCES=`{echo $AUDIT_SOURCES}
HEADERS=`{echo $HEADERS}
UNIT_TESTS=`{echo $UNIT_TESTS}
INTEGRATION_TESTS=`{echo $INTEGRATION_TESTS}
MANUALS=`{echo $MANUALS}
VERSION=`{cat VERSION}

MKSHELL=/bin/sh
BUILD=build
CXX=g++
WERROR=
PREFIX=/usr/local
DESTDIR=

PROFLD_OBJECTS=${PROFLD_SOURCES:%=$BUILD/obj/%.o}
PROF_OBJECTS=${PROF_SOURCES:%=$BUILD/obj/%.o}
# The page that prof --html writes around a profile.
PAGE_OBJECT=$BUILD/page/page.o
SHARED_OBJECTS=${SHARED_SOURCES:%=$BUILD/obj/%.o}
UNIT_OBJECTS=${UNIT_TESTS:%=$BUILD/obj/%.o}
INTEGRATION_OBJECTS=${INTEGRATION_TESTS:%=$BUILD/obj/%.o}
LIBPROF_OBJECTS=${LIBPROF_SOURCES:%=$BUILD/runtime/%.o}
AUDIT_OBJECTS=${AUDIT_SOURCES:%=$BUILD/runtime/%.o}
SAMPLER_OBJECTS=$LIBPROF_OBJECTS ${SAMPLER_SOURCES:%=$BUILD/runtime/%.o}
TARGET_OBJECTS=${TARGET_SOURCES:%=$BUILD/target/%.o} ${TARGET_SHARED_SOURCES:%=$BUILD/target/%.o}
TARGET_TESTED_OBJECTS=${TARGET_TESTED_SOURCES:%=$BUILD/obj/%.o}
TESTED_OBJECTS=`{printf '%s\n' $PROFLD_OBJECTS $PROF_OBJECTS $PAGE_OBJECT $TARGET_TESTED_OBJECTS | grep -v /main.cc.o}
PROGRAMS=$BUILD/bin/profld $BUILD/bin/prof $BUILD/bin/proftarget $BUILD/lib/libprof.so $BUILD/lib/libprof-sampler.so $BUILD/lib/libprof-audit.so

all:V: $PROGRAMS

$BUILD/bin/profld: $PROFLD_OBJECTS
	mkdir -p $BUILD/bin
	$CXX -o $target $prereq $PROFLD_LIBS

$BUILD/bin/prof: $PROF_OBJECTS $PAGE_OBJECT $SHARED_OBJECTS
	mkdir -p $BUILD/bin
	$CXX -o $target $prereq $PROF_LIBS

$BUILD/bin/proftarget: $TARGET_OBJECTS
	mkdir -p $BUILD/bin
	$CXX -static -o $target $prereq

$BUILD/lib/libprof.so: $LIBPROF_OBJECTS
	mkdir -p $BUILD/lib
	$CXX $LDFLAGS_RUNTIME -o $target $prereq

$BUILD/lib/libprof-sampler.so: $SAMPLER_OBJECTS
	mkdir -p $BUILD/lib
	$CXX $LDFLAGS_RUNTIME -o $target $prereq

$BUILD/lib/libprof-audit.so: $AUDIT_OBJECTS
	mkdir -p $BUILD/lib
	$CXX $LDFLAGS_RUNTIME $LDFLAGS_AUDIT -o $target $prereq

$BUILD/tests/unit: $UNIT_OBJECTS
$BUILD/tests/integration: $INTEGRATION_OBJECTS ${TEST_MAIN:%=$BUILD/obj/%.o}
$BUILD/tests/%: $TESTED_OBJECTS
	mkdir -p $BUILD/tests
	$CXX -o $target $prereq $PROFLD_LIBS $PROF_LIBS

# As is the custom with mk, every object depends on every header. What the compiler writes of dependencies (-MMD) nobody reads; with
# the same words as in the Makefile ccache knows that make has compiled it.
$PROFLD_OBJECTS $PROF_OBJECTS $UNIT_OBJECTS $INTEGRATION_OBJECTS $TARGET_OBJECTS $TARGET_TESTED_OBJECTS $SAMPLER_OBJECTS $AUDIT_OBJECTS: $HEADERS VERSION

# linker-rewrite/precompiled.h, for g++ (the Makefile says more).
$PROFLD_OBJECTS $PROF_OBJECTS: build/precompiled/precompiled.h.gch/program
$UNIT_OBJECTS $INTEGRATION_OBJECTS: build/precompiled/precompiled.h.gch/test
build/precompiled/precompiled.h: linker-rewrite/precompiled.h
	mkdir -p build/precompiled
	echo '#include "linker-rewrite/precompiled.h"' >$target

build/precompiled/precompiled.h.gch/%: build/precompiled/precompiled.h VERSION
	mkdir -p build/precompiled/precompiled.h.gch
	case $stem in test) more=$CXXFLAGS_TESTS ;; *) more= ;; esac
	$CXX $CXXFLAGS_COMMON ${WERROR:+-Werror} $more -DPROFLD_VERSION=\"$VERSION\" -x c++-header -o $target build/precompiled/precompiled.h

$BUILD/target/%.cc.o: %.cc
	mkdir -p $(dirname $target)
	$CXX $CXXFLAGS_COMMON ${WERROR:+-Werror} -MMD -MP -DPROFLD_VERSION=\"$VERSION\" -c -o $target $stem.cc

$BUILD/obj/%.cc.o: %.cc
	mkdir -p $(dirname $target)
	case $stem in tests/*) more=$CXXFLAGS_TESTS ;; *) more= ;; esac
	$CXX $CXXFLAGS_COMMON ${WERROR:+-Werror} -MMD -MP $more -DPROFLD_VERSION=\"$VERSION\" \
	  -include build/precompiled/precompiled.h -fpch-preprocess -c -o $target $stem.cc

$PAGE_OBJECT: prof/page/assemble $PAGE_FILES
	mkdir -p $BUILD/page
	prof/page/assemble $BUILD/page $PAGE_FILES
	$CXX -c -o $target $BUILD/page/page.s

$BUILD/runtime/%.cc.o: %.cc
	mkdir -p $(dirname $target)
	$CXX $CXXFLAGS_COMMON ${WERROR:+-Werror} -MMD -MP $CXXFLAGS_RUNTIME -c -o $target $stem.cc

$BUILD/runtime/%.S.o: %.S
	mkdir -p $(dirname $target)
	$CXX $CXXFLAGS_COMMON -fPIC -c -o $target $stem.S

packages:V:
	.ci/packages $BUILD_PACKAGES $DEMO_PACKAGES $CHECK_PACKAGES

demo:V: $PROGRAMS
	tests/demo $BUILD

check:V: $PROGRAMS $BUILD/tests/unit $BUILD/tests/integration
	tests/run $BUILD

golden:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES
	GOLDEN=write tests/run $BUILD golden

callgrind:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES $CALLGRIND_PACKAGES
	tests/callgrind $BUILD

ocaml:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES $OCAML_PACKAGES
	tests/ocaml $BUILD

gprof-programs:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES $CALLGRIND_PACKAGES
	tests/gprof_programs $BUILD

exports:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES $EXPORTS_PACKAGES
	tests/export_viewers $BUILD

page:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES $CHROMIUM_PACKAGES
	tests/page/run $BUILD

sweep:V: $PROGRAMS
	.ci/packages $SWEEP_PACKAGES
	tests/sweep/run $BUILD

torture:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES
	tests/torture/run $BUILD $TORTURE

switches:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES
	tests/switches/run $BUILD $SWITCHES

tableless:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES $TABLELESS_PACKAGES
	tests/tableless/run $BUILD $TABLELESS
	tests/tableless/hard_cases $BUILD
	tests/tableless/built $BUILD

chromium:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES $CHROMIUM_PACKAGES
	tests/tableless/chromium $BUILD

install:V: $PROGRAMS
	install -d $DESTDIR$PREFIX/bin $DESTDIR$PREFIX/lib/profld
	install -m 755 $BUILD/bin/profld $BUILD/bin/prof $BUILD/bin/proftarget $DESTDIR$PREFIX/bin
	install -m 755 $BUILD/lib/libprof.so $BUILD/lib/libprof-sampler.so $BUILD/lib/libprof-audit.so $DESTDIR$PREFIX/lib/profld
	for page in $MANUALS; do
	  sed "s/^\.Os\$/.Os profld $VERSION/" $page |
	    install -D -m 644 /dev/stdin $DESTDIR$PREFIX/share/man/man${page##*.}/${page##*/} || exit 1
	done
	install -D -m 644 docs/completion/prof.bash $DESTDIR$PREFIX/share/bash-completion/completions/prof
	ln -sf prof $DESTDIR$PREFIX/share/bash-completion/completions/profld
	install -D -m 644 docs/completion/_prof $DESTDIR$PREFIX/share/zsh/site-functions/_prof
	install -D -m 644 docs/completion/prof.fish $DESTDIR$PREFIX/share/fish/vendor_completions.d/prof.fish
	ln -sf prof.fish $DESTDIR$PREFIX/share/fish/vendor_completions.d/profld.fish

uninstall:V:
	for file in $INSTALLED; do rm -f $DESTDIR$PREFIX/$file || exit 1; done
	for page in $MANUALS; do rm -f $DESTDIR$PREFIX/share/man/man${page##*.}/${page##*/} || exit 1; done
	[ ! -d $DESTDIR$PREFIX/lib/profld ] || rmdir --ignore-fail-on-non-empty $DESTDIR$PREFIX/lib/profld

dist:V:
	.ci/dist $BUILD

deb:V:
	.ci/packages $BUILD_PACKAGES $DEB_PACKAGES
	.ci/deb $BUILD

deb-check:V: deb
	.ci/packages $DEB_CHECK_PACKAGES
	tests/deb/run $BUILD

clean:V:
	rm -rf $BUILD
