# prof gprof prints what gprof prints, with each of its options, of a real gcc -pg build: several files, static functions,
# recursion, a cycle.
. "${0%/*}/../common.inc"

cp "$programs"/gprof/*.[ch] .
for source in main loops parity; do made $source.o gcc -pg -g -O0 -fno-inline -ffunction-sections -c -o $source.o $source.c; done
made a.out gcc -pg -o a.out main.o loops.o parity.o || fail "cannot link"
./a.out >output || fail "a.out: $?"
cp gmon.out real.out

# Ticks come when they come: these are made, so that all functions have some, on any machine.
python3 - <<'P' || fail "no gmon.out"
import struct
data = bytearray(open("gmon.out", "rb").read())
assert data[:4] == b"gmon" and data[20] == 0
bins, = struct.unpack_from("<I", data, 37)
for i in range(bins):
    struct.pack_into("<H", data, 60 + 2 * i + 1, (i * 7919 + 13) % 101 if i % 3 else 0)
open("gmon.out", "wb").write(data)
for i in range(bins):
    struct.pack_into("<H", data, 60 + 2 * i + 1, 65535)
open("full.out", "wb").write(data)
P

# same OPTION...: prints the same as gprof, and exits alike; what gprof says on standard error, prof may say in other words.
same() {
  gprof "$@" >expected 2>gprof.log </dev/null
  expected=$?
  run prof gprof "$@"
  [ "$status" = "$expected" ] || fail "prof gprof $*: exit status $status, not $expected: $(head -n 2 stderr)"
  cmp -s expected stdout || fail "prof gprof $*: $(diff expected stdout | head -n 6)"
  [ -s gprof.log ] || [ ! -s stderr ] || fail "prof gprof $* says: $(head -n 2 stderr)"
}

while read -r options; do
  # shellcheck disable=SC2086 # several options
  same -b $options
done <<'O'

-p
-q
-p -q
-B
-C
-C -z
-A
-A -z
-i
-i -p
-i -C -A
-P
-Q
-J
-Z
-P -q
-pmix
-pshared -pwork
-Pmix
-qeven
-qdepth
-Qeven
-qwork/mix
-Qwork/mix
-q -Qmain/work
-ploops.c
-pparity.c:odd
-Ploops.c
-p11
-qloops.c:mix
-Cmix
-Cloops.c
-Zmix
-Aloops.c
-Amix
-Jloops.c
-a
-a -p
-D
-z
-z -p
-z -q
-q -kwork/mix
-k work/spin
-k main.c/loops.c
-p -kwork/spin
-q -nwork
-q -nmain -nwork
-q -Nmix
-q -e work
-q -E work
-q -f work
-q -F work
-q -F work -F even
-q -E work -f main
-q -f even -e odd
-m 10001 -C
-m 10001 -A
-m 0 -C
-T
-T -p
-T -q
-T -z
-w 0
-w 10
-w 40
-w 120
-w 200 -q
-L
-L -p
-L -q
--inline-file-names
--inline-file-names -L
--no-demangle
--demangle
--demangle=gnu-v3
-t 2 -A
-t 0 -A
-x -A
-x -A -m 10100
-I / -A
-l
-l -p
-l -q
-l -C
-l -A
-l -A -x
-l -L -p
-l -pmix
-l -p12
-l -qmain
-l -a -p
-l -z -p
-l -C -z
-l -T
-l -q -fmain
-l -q -kwork/mix
-c -q
-c -q -k main/never
-c -z
-c -p
-c -a -q
-c -l -q
-q --static-call-graph
-r
-a -r
-r -q
--function-ordering
-s -p
-O auto
-O magic
-s -i
--flat-profile
--flat-profile=mix
--no-flat-profile
--no-flat-profile=mix
--graph
--graph=mix
--no-graph
--no-graph=mix
--exec-counts
--exec-counts=mix
--no-exec-counts=mix
--annotated-source
--annotated-source=mix
--no-annotated-source=mix
--file-info
--line --flat-profile
--no-static
--ignore-non-functions
--display-unused-functions
--time=work --graph
--no-time=work --graph
--min-count=1000 --exec-counts
--all-lines --annotated-source
--table-length=3 --annotated-source
--directory-path=/tmp --annotated-source
--print-path --graph
--traditional
--width=100 --graph
--file-format=magic
--brief
O

# Counts of basic blocks. (With arcs, too, gprof says less: it has the counts of one stretch of code for each line.)
python3 - <<'P' || fail "no blocks.out"
import re, struct, subprocess
data = open("gmon.out", "rb").read()
bins, = struct.unpack_from("<I", data, 37)
code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", "a.out"], capture_output=True, text=True).stdout
starts, begins, inside = [], True, False
for line in code.splitlines():
    if function := re.match(r"[0-9a-f]+ <(\w+)>:", line):
        inside, begins = function[1] in ("main", "work", "mix", "spin", "even", "left"), True
    elif inside and (instruction := re.match(r" +([0-9a-f]+):\s+(\S+)", line)):
        if begins:
            starts.append(int(instruction[1], 16))
        begins = instruction[2].startswith(("j", "ret", "call"))
blocks = b"".join(struct.pack("<QQ", address, i * 37 % 11) for i, address in enumerate(starts))
open("blocks.out", "wb").write(data[:61 + 2 * bins] + b"\x02" + struct.pack("<I", len(starts)) + blocks)
P
same -b -i a.out blocks.out
same -b -l -C a.out blocks.out
same -b -l -C -z a.out blocks.out
same -b -l -p a.out blocks.out
same -b -l -C -Cmix a.out blocks.out
prof gprof -b -l -A a.out blocks.out >stdout 2>stderr || fail "-A of basic blocks: $(cat stderr)"
grep -qE '^ +[0-9]+,[0-9]+(,[0-9]+)* ->     sum \+= mix' stdout || fail "no counts beside mix: $(grep mix stdout)"
prof gprof -b -C a.out blocks.out 2>&1 >stdout | grep 'left out; -l shows them, by lines' >/dev/null || fail "counts of basic blocks without -l are left out in silence"
prof gprof -b -l -C -d2048 a.out blocks.out | grep '^.blocks. 0x.* ran .* times: mix, line' >/dev/null || fail "-d2048 says nothing"

# Programs and profiles: those that are named, several, and the usual ones.
same -b a.out
same -b a.out gmon.out
same -b a.out gmon.out real.out real.out
same -b a.out real.out
same -b a.out -p
same a.out -b gmon.out -q
cp a.out other
same -b other real.out
printf -- '-b -p\n' >arguments
same @arguments

# -c: gprof misses calls of functions in front of their callers; with =all they are there.
gprof -b -q -c a.out gmon.out | grep ' 0/0 ' | sed 's/ *\[[0-9]*\]$//' | sort >expected
prof gprof -b -q --static-call-graph=all a.out gmon.out | grep ' 0/0 ' | sed 's/ *\[[0-9]*\]$//' | sort >found
[ -s expected ] && [ -z "$(comm -23 expected found)" ] || fail "--static-call-graph=all does not find $(comm -23 expected found)"
prof gprof -b -q --static-call-graph=all -k main/never -k never/depth a.out gmon.out | grep -c ' 0/0 .* never' >found
[ "$(cat found)" = 0 ] || fail "--static-call-graph=all and -k: never is called"
cat >backward.c <<'C'
static int leaf(int n) { return n + 1; }
static int called(int n) { return n + 2; }
static int user(int n) { return leaf(n); }
int main(int argc, char** argv) { return argc > 5 ? user(argc) : called(argc) - 3 + (argv[0] == 0); }
C
mkdir backward
made backward.out gcc -pg -O0 -o backward.out backward.c && (cd backward && ../backward.out) || fail "backward.out"
same -b -c -z -q backward.out backward/gmon.out
prof gprof -b --static-call-graph=all -z -q backward.out backward/gmon.out >stdout 2>stderr || fail "--static-call-graph=all: $(cat stderr)"
grep -qE ' 0/0 +leaf ' stdout && grep -qE ' 0/0 +user ' stdout || fail "--static-call-graph=all does not find backward calls"

# Symbols from a file.
nm a.out | grep -i ' t ' >symbols
same -b -S symbols
same -b --external-symbol-table=symbols -p

# -y: files.
mkdir theirs ours
(cd theirs && gprof -b -A -y ../a.out ../gmon.out) >stdout 2>&1
(cd ours && prof gprof -b -A -y ../a.out ../gmon.out) >stdout 2>&1 || fail "-y: $(cat stdout)"
diff -r theirs ours >differences || fail "-y: $(head -n 4 differences)"
[ -s ours/loops.c-ann ] || fail "-y leaves no loops.c-ann"
(cd ours && rm ./* && prof gprof -b --annotated-source --separate-files ../a.out ../gmon.out && [ -s loops.c-ann ]) || fail "--separate-files"

# -s: the same as gprof's sum, and right where that is not.
run gprof -s a.out gmon.out real.out
mv gmon.sum their.sum
run prof gprof -s a.out gmon.out real.out
[ "$status" = 0 ] && [ ! -s stdout ] || fail "prof gprof -s: $(cat stdout stderr)"
gprof -b a.out gmon.sum >ours.text 2>&1 || fail "gprof does not read gmon.sum: $(tail -n 1 ours.text)"
gprof -b a.out their.sum >theirs.text
cmp -s ours.text theirs.text || fail "-s: $(diff theirs.text ours.text | head -n 4)"
run prof gprof --sum a.out gmon.sum gmon.sum gmon.sum
prof gprof -b -p a.out gmon.sum >sum.text
prof gprof -b -p a.out gmon.out real.out gmon.out real.out gmon.out real.out >several.text
cmp -s sum.text several.text || fail "-s three times: $(diff several.text sum.text | head -n 4)"
run prof gprof -s a.out full.out full.out full.out
gprof -b -p a.out gmon.sum >sum.text 2>&1
gprof -b -p a.out full.out full.out full.out >several.text
cmp -s sum.text several.text || fail "beyond 65535: $(diff several.text sum.text | head -n 4)"

# -R: gprof 2.40 reads memory that it has not set; here it is zeros.
nm --print-file-name main.o loops.o parity.o >all_symbols
nm --extern-only --defined-only -v --print-file-name main.o loops.o parity.o >map
export MALLOC_PERTURB_=255
for options in "-R map" "-a -R map" "-R map -p" "-R map -q" "-R map -z" "-R map -C" "-R all_symbols" "--file-ordering map" "-l -R map"; do
  # shellcheck disable=SC2086 # several options
  same -b $options
done
unset MALLOC_PERTURB_

# Of more than 80 functions some are put first.
python3 - >many.c <<'P'
import random
random.seed(7)
functions = range(400)
print("#define F(n) __attribute__((noinline)) static void f##n(int d)")
for i in functions:
    print(f"F({i});")
for i in functions:
    callees = random.choices(functions, [1000 // (k + 1) + 1 for k in functions], k=4)
    print(f"F({i}) {{ if (d <= 0) return;", *(f"if (d % {random.randint(1, 3)} == 0) f{j}(d - 1);" for j in callees), "}")
print("int main(void) { for (int i = 0; i < 4; ++i) f1(9), f0(8), f200(7), f399(9); }")
P
made many.out gcc -pg -O0 -o many.out many.c && mkdir many && (cd many && ../many.out) || fail "many.out"
for option in -r -c -q; do same -b $option many.out many/gmon.out; done

# --chains: every function, and every object file, once; linkers take the order.
run prof gprof --chains -r a.out gmon.out
sort stdout >order
for function in main work depth mix spin shared turn even odd left never; do
  [ "$(grep -cx $function order)" = 1 ] || fail "-r has $function $(grep -cx $function order) times"
done
[ "$(wc -l <stdout)" -gt "$(grep -nx never stdout | cut -d : -f 1)" ] || [ "$(tail -n 1 stdout)" = never ] || fail "-r: never, which was not called, is not at the end"
sed 's/^/.text./' stdout >sections
made ordered gcc -pg -fuse-ld=gold -Wl,--section-ordering-file=sections -o ordered main.o loops.o parity.o || fail "gold does not take the order"
nm -n ordered | awk '{ print $3 }' | grep -xE 'main|work|depth|mix|spin|shared|turn|even|odd|left|never' >linked
grep -xFf linked stdout >wanted
cmp -s linked wanted || fail "gold has the order $(paste -sd ' ' linked), not $(paste -sd ' ' wanted)"
nm --defined-only --print-file-name main.o loops.o parity.o >map
run prof gprof --chains -a -R map a.out gmon.out
[ "$(sort stdout | paste -sd ' ')" = "loops.o main.o parity.o" ] || fail "-R: $(paste -sd ' ' stdout)"
run prof gprof -r -R map a.out gmon.out
[ "$status" = 2 ] || fail "-r and -R: exit status $status"

# -d: something is said of each step.
for level in 2 4 16 32 64 128 512 1024; do
  run prof gprof -b -d$level a.out gmon.out
  [ "$(wc -l <stdout)" -gt "$(gprof -b a.out gmon.out | wc -l)" ] || fail "-d$level says nothing"
done
prof gprof -b -c -d256 a.out gmon.out | grep 'call at 0x.*: never to depth' >/dev/null || fail "-d256 has no call of depth by never"
prof gprof -b -pmix -d4096 a.out gmon.out | grep '^symspec mix: mix$' >/dev/null || fail "-d4096 says nothing"
prof gprof -b -A --debug=8192 a.out gmon.out | grep 'loops.c' >/dev/null || fail "-d8192 says nothing"
prof gprof -d a.out gmon.out | grep 'Flat profile' >/dev/null || fail "-d: no flat profile"

# What makes no sense is told.
# refused STATUS TEXT OPTION...
refused() {
  local expected=$1 text=$2
  shift 2
  run prof gprof "$@"
  [ "$status" = "$expected" ] || fail "prof gprof $*: exit status $status, not $expected"
  grep -qF -- "$text" stderr || fail "prof gprof $* says $(head -n 1 stderr), not $text"
}
refused 2 "no such option" -@
refused 2 "no such option" --nothing
refused 2 "needs an argument" -k
refused 2 "takes no argument" --brief=yes
refused 2 "invalid arc 'main'; write FROM/TO" -k main
refused 2 "invalid number 'wide'; write a number of columns" -w wide
refused 2 "invalid format 'elf'; write auto" -O elf
refused 2 "not read" -O prof
refused 2 "invalid style 'none-such'; write auto" --demangle=none-such
refused 2 "invalid kind of graph 'some'; write all" --static-call-graph=some
refused 1 "not in BSD's; leave out -O" -O bsd
refused 1 "none.out" a.out none.out
refused 1 "none" none
refused 0 "matches no function" -b -pnone
refused 0 "no function is known to be in a source file" -b -pnone.c
refused 1 "12x: invalid line number; write FILE:LINE" -p12x
run prof gprof --help
[ "$status" = 0 ] && grep -q '^usage: prof gprof' stdout || fail "--help: $(cat stdout stderr)"
[ "$(prof gprof --version)" = "prof gprof $version" ] || fail "--version: $(prof gprof --version)"
