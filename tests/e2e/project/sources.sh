# The file `sources` lists every source, header, unit test, integration test and manual that there is, and nothing else. No
# source has more than 800 lines, and no line more than 120 columns.
. "${0%/*}/../common.inc"

cd "$tests/.." || exit 1
listed() { make -s -f - show <<<"include sources
show:; @printf '%s\n' \$(wildcard \$($1))"; }
check() {
  local variable=$1
  shift
  diff <(listed "$variable" | sort) <(printf '%s\n' "$@" | sort) >/dev/null ||
    fail "$variable: $(diff <(listed "$variable" | sort) <(printf '%s\n' "$@" | sort) | grep '^[<>]' | paste -sd ' ') (< only listed, > only there)"
}
shopt -s nullglob
check PROFLD_SOURCES linker-rewrite/*.cc linker-rewrite/*/*.cc
# shellcheck disable=SC2046 # a list of words
check PROF_SOURCES $(find prof -name '*.cc' -not -path '*/target/*')
# shellcheck disable=SC2046 # a list of words
check TARGET_SOURCES $(find prof -path '*/target/*.cc')
# shellcheck disable=SC2046 # a list of words
check LIBPROF_SOURCES $(printf '%s\n' libprof/*/*.cc libprof/*/*.S | grep -vE '^libprof/(sampler|audit)/')
check SAMPLER_SOURCES libprof/sampler/*
check AUDIT_SOURCES libprof/audit/*
# shellcheck disable=SC2046 # a list of words
check HEADERS $(find libprof linker-rewrite prof tests/fuzz tests/libprof tests/unit tests/integration -name '*.h')
# shellcheck disable=SC2046 # a list of words
check UNIT_TESTS $(find tests/unit -name '*.cc')
# shellcheck disable=SC2046 # a list of words
check INTEGRATION_TESTS $(find tests/integration -name '*.cc')
check FUZZ_TARGETS tests/fuzz/*.cc
check MANUALS man/*.[1-9]

# A file may be longer that says near its top why.
long=$(find linker-rewrite libprof prof tests -type f -exec awk '
  FNR == 1 { says_why = 0 }
  FNR <= 20 && /More than 800 lines: / { says_why = 1 }
  FNR == 801 && !says_why { print FILENAME }' {} +)
[ -z "$long" ] || fail "more than 800 lines, and no word why: $long"

# Comments, too, which clang-format leaves as they are.
wide=$(find linker-rewrite libprof prof -name '*.cc' -o -name '*.h' -o -name '*.S' |
  xargs awk 'length($0) > 120 { print FILENAME ":" FNR }')
[ -z "$wide" ] || fail "lines of more than 120 columns: $(paste -sd ' ' <<<"$wide")"
# Debian's lintian takes a page with longer lines for one that a program wrote, and asks for its source.
wide=$(awk 'length($0) > 500 { print FILENAME ":" FNR }' prof/page/*.html prof/page/*.js prof/page/*.css)
[ -z "$wide" ] || fail "lines of more than 500 columns: $(paste -sd ' ' <<<"$wide")"
