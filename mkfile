# Plan 9's mk (Debian package 9base): /usr/lib/plan9/bin/mk builds, mk demo, mk check, mk install, mk clean.
# Sources, flags and packages come from the file that the Makefile reads too.

<sources
VERSION=`{cat VERSION}

MKSHELL=/bin/sh
BUILD=build
CXX=g++
WERROR=
PREFIX=/usr/local
DESTDIR=

PROFLD_OBJECTS=${PROFLD_SOURCES:%=$BUILD/obj/%.o}
PROF_OBJECTS=${PROF_SOURCES:%=$BUILD/obj/%.o}
SHARED_OBJECTS=${SHARED_SOURCES:%=$BUILD/obj/%.o}
UNIT_OBJECTS=${UNIT_TESTS:%=$BUILD/obj/%.o}
LIBPROF_OBJECTS=${LIBPROF_SOURCES:%=$BUILD/runtime/%.o}
AUDIT_OBJECTS=${AUDIT_SOURCES:%=$BUILD/runtime/%.o}
SAMPLER_OBJECTS=$LIBPROF_OBJECTS ${SAMPLER_SOURCES:%=$BUILD/runtime/%.o}
PROGRAMS=$BUILD/bin/profld $BUILD/bin/prof $BUILD/lib/libprof.so $BUILD/lib/libprof-sampler.so $BUILD/lib/libprof-audit.so

all:V: $PROGRAMS

$BUILD/bin/profld: $PROFLD_OBJECTS
	mkdir -p $BUILD/bin
	$CXX -o $target $prereq $PROFLD_LIBS

$BUILD/bin/prof: $PROF_OBJECTS $SHARED_OBJECTS
	mkdir -p $BUILD/bin
	$CXX -o $target $prereq $PROF_LIBS

$BUILD/lib/libprof.so: $LIBPROF_OBJECTS
	mkdir -p $BUILD/lib
	$CXX $LDFLAGS_RUNTIME -o $target $prereq

$BUILD/lib/libprof-sampler.so: $SAMPLER_OBJECTS
	mkdir -p $BUILD/lib
	$CXX $LDFLAGS_RUNTIME -o $target $prereq

$BUILD/lib/libprof-audit.so: $AUDIT_OBJECTS
	mkdir -p $BUILD/lib
	$CXX $LDFLAGS_RUNTIME $LDFLAGS_AUDIT -o $target $prereq

$BUILD/tests/unit: $UNIT_OBJECTS $PROFLD_OBJECTS $PROF_OBJECTS
	mkdir -p $BUILD/tests
	tested=
	for object in $PROFLD_OBJECTS $PROF_OBJECTS; do
	  case $object in */main.cc.o) ;; *) tested="$tested $object" ;; esac
	done
	$CXX -o $target $UNIT_OBJECTS $tested $PROFLD_LIBS $PROF_LIBS

# As is the custom with mk, every object depends on every header.
$PROFLD_OBJECTS $PROF_OBJECTS $UNIT_OBJECTS $SAMPLER_OBJECTS $AUDIT_OBJECTS: $HEADERS VERSION

$BUILD/obj/%.cc.o: %.cc
	mkdir -p $(dirname $target)
	$CXX $CXXFLAGS_COMMON -DPROFLD_VERSION=\"$VERSION\" ${WERROR:+-Werror} -c -o $target $stem.cc

$BUILD/runtime/%.cc.o: %.cc
	mkdir -p $(dirname $target)
	$CXX $CXXFLAGS_COMMON ${WERROR:+-Werror} $CXXFLAGS_RUNTIME -c -o $target $stem.cc

$BUILD/runtime/%.S.o: %.S
	mkdir -p $(dirname $target)
	$CXX $CXXFLAGS_COMMON -fPIC -c -o $target $stem.S

packages:V:
	.ci/packages $BUILD_PACKAGES $DEMO_PACKAGES $CHECK_PACKAGES

demo:V: $PROGRAMS
	tests/demo $BUILD

# The fuzz targets are clang's and make's business.
check:V: $PROGRAMS $BUILD/tests/unit
	make -s BUILD=$BUILD fuzz-targets
	tests/run $BUILD

callgrind:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES $CALLGRIND_PACKAGES
	tests/callgrind $BUILD

sweep:V: $PROGRAMS
	.ci/packages $SWEEP_PACKAGES
	tests/sweep/run $BUILD

torture:V: $PROGRAMS
	.ci/packages $CHECK_PACKAGES
	tests/torture/run $BUILD $TORTURE

install:V: $PROGRAMS
	install -d $DESTDIR$PREFIX/bin $DESTDIR$PREFIX/lib
	install -m 755 $BUILD/bin/profld $BUILD/bin/prof $DESTDIR$PREFIX/bin
	install -m 755 $BUILD/lib/libprof.so $BUILD/lib/libprof-sampler.so $BUILD/lib/libprof-audit.so $DESTDIR$PREFIX/lib
	for page in $MANUALS; do
	  sed "s/^\.Os\$/.Os profld $VERSION/" $page |
	    install -D -m 644 /dev/stdin $DESTDIR$PREFIX/share/man/man${page##*.}/${page##*/} || exit 1
	done

clean:V:
	rm -rf $BUILD
