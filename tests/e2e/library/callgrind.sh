# Calls of functions in libraries of the system, the C and the C++ library among them, are those that callgrind counts, address by
# address.
#
# What may differ: functions that are left out (profld's report); those that are run before the constructor of libprof.so or
# belong to crtbegin.o, which callgrind sees once each, a handful in each library; and functions without symbols that are only
# jumped to, of which callgrind does not know that they are functions. Both runs are under valgrind, because the C library chooses
# its string functions by the processor; and the heap has room from the start, since it depends on where it begins.
. "${0%/*}/../common.inc"
. "$tests/library.inc"

compile program "$programs/library_user.cc" -O1 -lz -Wl,-rpath,.,--disable-new-dtags
rewrite program --no-imports
for file in $(ldd ./program | awk '$2 == "=>" { print $3 }'); do
  cp -L "$file" plain/
  library "${file##*/}"
done

export GLIBC_TUNABLES=glibc.malloc.top_pad=67108864:glibc.malloc.trim_threshold=268435456
(cd plain && exec valgrind -q --tool=callgrind --dump-instr=yes --compress-strings=no --compress-pos=no \
  --callgrind-out-file=../callgrind.out ../program) >expected 2>valgrind.log
[ $? = 5 ] || fail "under callgrind: $(tail -n 2 valgrind.log)"
rm -rf profiles
mkdir profiles
(cd copy && PROFDIR=../profiles exec valgrind -q --tool=none ../program.prof) >stdout 2>valgrind.log
[ $? = 5 ] && cmp -s stdout expected || fail "the copies: $(tail -n 2 stdout valgrind.log)"

# calls=N ADDRESS LINE, of the object cob, if named, or else ob.
awk '
  /^ob=/ { object = $0 }
  /^cob=/ { called = $0 }
  /^calls=/ { of = called == "" ? object : called; sub(/.*\//, "", of); calls[of "\t" $2] += substr($1, 7); called = "" }
  END { for (address in calls) print address "\t" calls[address] }' callgrind.out >callgrind
recorded_calls
jq -r '.functions[] | [.module, .address, .calls, .name] | @tsv' profile.json >prof

compared=0
for library in plain/*; do
  library=${library##*/}
  jq -r '(.left_out + .skipped)[].address' "copy/$library.report" >left_out
  objdump -d --no-show-raw-insn "plain/$library" | sed -n 's/.*\tjmp *\([0-9a-f]*\) <.*/0x\1/p' | sort -u >jumped_to
  awk -F'\t' -v library="$library" '
    FILENAME == "left_out" { left_out[$1]; next }
    FILENAME == "jumped_to" { jumped_to[$1]; next }
    $1 != library { next }
    FILENAME == "callgrind" { callgrind[$2] = $3; address[$2]; next }
    { prof[$2] = $3; name[$2] = $4; address[$2] }
    END {
      for (a in address) {
        if (callgrind[a] == prof[a]) { ++same; continue }
        if (a in left_out && prof[a] == "") continue
        if (callgrind[a] == 1 && prof[a] == "" && ++early <= 6) continue
        if (callgrind[a] == "" && a in jumped_to) continue
        printf "%s %s %s: callgrind %d, prof %d\n", library, a, name[a], callgrind[a], prof[a]
        wrong = 1
      }
      print same + 0
      exit wrong
    }' left_out jumped_to callgrind prof >found || fail "$(head -n 4 found | paste -sd ';')"
  compared=$((compared + $(cat found)))
done
[ $compared -gt 200 ] || fail "only $compared functions are compared"
