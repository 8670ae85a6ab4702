# A thousand children, daemons, vfork, posix_spawn, system, and a chain of execs under one process id: a profile for each process
# and each program, with its calls and no others.
. "${0%/*}/../../libprof/common.inc"

hooked storm
rm -rf profiles
mkdir profiles
PROFDIR=profiles run ./storm 1000
[ "$status" = 0 ] && [ ! -s stderr ] || fail "status $status: $(head -n 3 stderr)"
until [ "$(awk '!($1 in seen) { seen[$1]; n++ } END { print n }' stdout)" -ge 1001 ]; do sleep 0.05; done # the daemons
for file in profiles/prof.*; do
  ./dump "$file" | awk -v file="$file" '/^pid/ { pid = $2 }
    /^total/ { n = split(file, part, "."); print pid, (n > 2 ? part[n] : 0), $4, $2 }'
done >recorded
awk '$4 > 0' stdout | sort >expected
# The daemons' parents end in daemon(3) and say nothing.
awk 'FILENAME == "expected" { known[$1]; next } $1 in known' expected recorded | sort | diff expected - >calls.diff ||
  fail "(< counted, > recorded) $(grep -c '^[<>]' calls.diff): $(head -n 6 calls.diff | paste -sd ';')"
[ "$(ls profiles | wc -l)" = 1016 ] || fail "$(ls profiles | wc -l) profiles, not 1016: 6 programs of the first process, 1000 children, 10 daemons"
