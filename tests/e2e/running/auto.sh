# prof run --type auto: one run, with exact calls and times from samples, which prof afterwards finds by itself.
. "${0%/*}/../common.inc"
export XDG_CACHE_HOME=$PWD/cache
unset tabstop

cat >program.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define KEPT __attribute__((noipa))
static volatile unsigned sink;
KEPT void tiny(void) { ++sink; }
// Runs on until the thread has had a processor for so many milliseconds.
KEPT void busy(long milliseconds) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  const double end = t.tv_sec + t.tv_nsec * 1e-9 + milliseconds * 1e-3;
  do {
    for (volatile int i = 0; i < 200000; ++i) sink += i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  } while (t.tv_sec + t.tv_nsec * 1e-9 < end);
}
KEPT void* work(void* unused) {
  for (int i = 0; i < 1000; ++i) tiny();
  busy(200);
  return unused;
}
int main(int argc, char** argv) {
  for (int i = 0; i < 100000; ++i) tiny();
  busy(400);
  if (argc > 1 && !strcmp(argv[1], "more")) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    if (fork() == 0) {
      work(NULL);
      _exit(0);
    }
    wait(NULL);
  }
  if (argc > 1 && !strcmp(argv[1], "long")) busy(1200);
  if (getenv("PROFTYPE")) sink = 0;
  puts("done");
  return 7;
}
C
compile program program.c -O1 -g -pthread

# calls FUNCTION FILE: as a table has them.
calls() { awk -F '\t' -v name="$1" '$2 == name { n = split($1, field, " "); print field[n - 1] }' "$2"; }
first() { awk -F '\t' 'NF == 2 && $2 != "Name" { print $2; exit }' "$1"; }

# The program's output and status are its own; its calls are exact, and the time is where it was.
run prof run --type auto ./program
[ "$status" = 7 ] || fail "ended with $status: $(cat stderr)"
[ "$(cat stdout)" = done ] || fail "printed $(cat stdout)"
[ "$(calls tiny stderr)" = 100000 ] || fail "tiny was called $(calls tiny stderr) times: $(cat stderr)"
[ "$(calls busy stderr)" = 1 ] || fail "busy was called $(calls busy stderr) times: $(cat stderr)"
[ "$(first stderr)" = busy ] || fail "the first is $(first stderr), not busy: $(cat stderr)"
profile=$(ls prof.* | grep -v samples)

# prof shows the same afterwards, and JSON has what samples took, wherever they came from.
run prof
[ "$status" = 0 ] && [ "$(first stdout)" = busy ] && [ "$(calls tiny stdout)" = 100000 ] || fail "prof: $(cat stdout stderr)"
run prof --json "$profile"
[ "$(jq '[.functions[] | select(.name == "busy")][0].self_seconds > 0.2' stdout)" = true ] || fail "JSON: $(cat stdout)"

# total FUNCTION FILE: as a table has it.
total() { awk -F '\t' -v name="$1" '$2 == name { n = split($1, field, " "); print field[n - 2] }' "$2"; }
# callers FUNCTION FILE: who calls it in the contexts of a JSON document, each once.
callers() {
  jq -r --arg name "$1" '[.functions[].name | sub("\\(.*"; "")] as $names | .tree as $tree | [.tree[] | select($names[.function] == $name and .parent >= 0) | $names[$tree[.parent].function]] | unique | join(" ")' "$2"
}

# Samples from outside have their callers: through libraries, by pointers, in threads, below tail calls, with totals; calls are
# exact where a function has one context.
has_contexts=
[ ! -e "$profile.samples" ] || has_contexts=yes
if [ -n "$has_contexts" ]; then
  cat >contexts.cc <<'C'
#include <algorithm>
#include <stdexcept>
#include <thread>
#include <vector>
#define KEPT __attribute__((noipa))
static volatile unsigned sink;
KEPT void work(unsigned n) {
  for (unsigned i = 0; i < n * 20000; ++i) sink += i;
}
KEPT void first(void) { work(100); sink += 1; }
KEPT void second(void) { work(300); sink += 1; }
KEPT bool less(int a, int b) { work(1); return a < b; }
KEPT void sorts(void) {
  std::vector<int> v;
  for (int i = 0; i < 200; ++i) v.push_back(i * 7919 % 200);
  std::sort(v.begin(), v.end(), less);
}
KEPT void recurses(int n) { work(20); if (n) recurses(n - 1); sink += 1; }
KEPT void throws(int n) { work(50); if (n) throws(n - 1); else throw std::runtime_error("x"); sink += 1; }
KEPT void catches(void) { try { throws(5); } catch (const std::exception&) { work(100); } }
KEPT void jumps(void) { sink += 1; work(100); }
KEPT void thread_work(void) { work(500); sink += 1; }
// Most of its pages are never used, and the kernel copies a stack up to the first such one only.
KEPT void has_room(void) { volatile char room[16384]; room[0] = 1; work(100); sink += room[0]; }
int main() {
  for (int i = 0; i < 30; ++i) { first(); second(); recurses(9); catches(); jumps(); }
  std::thread([] { for (int i = 0; i < 40; ++i) has_room(); }).join();
  sorts();
  std::thread thread([] { for (int i = 0; i < 20; ++i) thread_work(); });
  thread.join();
}
C
  compile contexts contexts.cc -O1 -foptimize-sibling-calls -pthread
  mkdir contexts.runs
  (cd contexts.runs && PROFDIR=. prof run --type auto ../contexts 2>stderr) || fail "contexts: $(cat contexts.runs/stderr)"
  run prof --json contexts.runs/prof.*[0-9]
  mv stdout contexts.json
  for pair in 'work:catches first has_room jumps less recurses second thread_work throws' 'jumps:main' 'first:main' 'second:main' 'recurses:main recurses' 'throws:catches throws' 'catches:main'; do
    [ "$(callers "${pair%%:*}" contexts.json)" = "${pair#*:}" ] || fail "${pair%%:*} is called by $(callers "${pair%%:*}" contexts.json)"
  done
  [[ $(callers has_room contexts.json) = *lambda* && $(callers has_room contexts.json) != *unknown* ]] || fail "has_room is called by $(callers has_room contexts.json)"
  [ "$(jq '[.tree[] | select(.calls_estimated)] | length > 0' contexts.json)" = true ] || fail "no calls are estimated: $(cat contexts.json)"
  jq -e '(.tree[] |= (.low <= .cycles and .cycles <= .high and .self_low <= .self_cycles and .self_cycles <= .self_high)) |
    (.functions[] |= (.total_low <= .total_cycles and .total_cycles <= .total_high)) | (.tree + .functions) | all' contexts.json >true ||
    fail "times outside their ranges: $(cat contexts.json)"
  run prof -d contexts.runs/prof.*[0-9]
  grep -q 'first():[0-9.-]*/30$' stdout && grep -q 'throws(int):[0-9.-]*/~' stdout || fail "the tree: $(cat stdout)"
  ! grep -q 'libprof' stdout || fail "the runtime's own work: $(cat stdout)"
  run prof --callers less contexts.runs/prof.*[0-9]
  grep -q 'sorts' stdout && grep -q 'main' stdout || fail "callers of less: $(cat stdout)"
  run prof contexts.runs/prof.*[0-9]
  [[ $(total main stdout) = *[0-9]*s ]] || fail "main has no total: $(cat stdout)"
fi

# Samples that are gone are no times.
if [ -e "$profile.samples" ]; then
  mv "$profile.samples" elsewhere
  run prof "$profile"
  [ "$status" = 0 ] && grep -qP ' 100000\ttiny$' stdout && grep -q 'no hooks, no times$' stdout && ! grep -q Self stdout || fail "without samples: $(cat stdout stderr)"
  mv elsewhere "$profile.samples"
fi

# Threads and children are counted and sampled as well.
mkdir more
(cd more && PROFDIR=. prof run --type auto ../program more >stdout 2>stderr) || [ $? = 7 ] || fail "more: $(cat more/stderr)"
(cd more && prof program 2>/dev/null || prof prof.*[0-9] 2>&1) >table
[ "$(calls tiny table)" = 102000 ] || fail "tiny was called $(calls tiny table) times, with threads and children: $(cat table more/stderr)"
[ "$(calls busy table)" = 3 ] || fail "busy was called $(calls busy table) times: $(cat table)"

# prof run in what another prof run runs does as by itself; what has hooks is timed there as by default.
profld -o hooked program
mkdir nested
(cd nested && PROFDIR=. prof run --dir=outer sh -c 'prof run --dir=inner ../program; PROFDIR=. ../hooked' >stdout 2>stderr) ||
  [ $? = 7 ] || fail "nested: $(cat nested/stderr)"
[ -n "$(find nested/inner -name '*.samples')" ] || fail "the inner prof run took no samples: $(cat nested/stderr)"
prof --json nested/prof.* >json && jq -e '.type == "time"' json >/dev/null || fail "a child with hooks: $(jq .type json)"

# At first there are more samples, and later each counts as several: the times are those of the kernel's accounts all the same.
if [ -n "$has_contexts" ]; then
  for how in short long; do
    mkdir $how.runs
    (cd $how.runs && PROFDIR=. prof run --type auto ../program $how >stdout 2>stderr) || [ $? = 7 ] || fail "$how: $(cat $how.runs/stderr)"
    jq -e '(.user_samples + (.kernel_samples // 0)) * .period_ns / (.user_time_ns + .system_time_ns) | . > 0.75 and . < 1.33' \
      $how.runs/prof.*.samples >/dev/null || fail "$how: the samples are not the accounts: $(jq -c 'del(.modules, .chains)' $how.runs/prof.*.samples)"
  done
  # Of 400 of these each counts once, and of the others as 4: what counts as how many at once, in the mean, tells how many there were.
  jq -e '.user_samples * (4 - .samples_at_once) / 3 > 0.75 * ([.user_samples, 400] | min)' short.runs/prof.*.samples >/dev/null ||
    fail "a short run has no more samples: $(jq -c 'del(.modules, .chains)' short.runs/prof.*.samples)"
fi

# What it cannot do is refused, and it is said what can.
run prof run --type auto --libs-only ./program
[ "$status" = 2 ] && grep -q '^prof: --libs-only needs hooks, which --type auto does not use; write --type time with it' stderr || fail "--libs-only: $status $(cat stderr)"
run prof run --type atuo ./program
[ "$status" = 2 ] && grep -q "invalid type 'atuo'; write time, .* auto" stderr || fail "a wrong type: $status $(cat stderr)"

# It is what runs if nothing else is asked for; in the environment, too. What takes hooks gets them.
for how in "" "PROFTYPE=auto"; do
  # shellcheck disable=SC2086 # a variable
  run env $how prof run ./program
  [ "$status" = 7 ] && [ "$(calls tiny stderr)" = 100000 ] && [ "$(first stderr)" = busy ] && ! grep -q PROFTYPE stderr || fail "by default: $status $(cat stderr)"
done
run prof run --libs ./program
[ "$status" = 7 ] && [ "$(calls tiny stderr)" = 100000 ] && [ "$(calls 'puts [libc.so.6]' stderr)" = 1 ] && ! grep -q PROFTYPE stderr || fail "--libs: $status $(cat stderr)"
for options in "--type time" "-F tiny -F busy" "-t" "--libs --type time" "--no-imports"; do
  # shellcheck disable=SC2086 # a list of words
  run prof run $options ./program
  [ "$status" = 7 ] && grep -q 'PROFTYPE=time\|on a processor' stderr && grep -qP ' 100000 .*\ttiny$' stderr || fail "$options: $status $(cat stderr)"
done

PROFSTART=off run prof run ./program
[ "$status" = 7 ] && grep -q 'recording was never switched on' stderr || fail "PROFSTART: $status $(cat stderr)"

# Static programs, with threads, too; those that may begin threads of which nobody tells have hooks.
if [ -n "$has_contexts" ]; then
  compile static program.c -O1 -static -pthread
  sed 's/pthread_create.*;/work(NULL);/; s/pthread_join.*;//; s/fork() == 0/0/' program.c >single.c
  compile single single.c -O1 -static
  run prof run ./single more
  [ "$status" = 7 ] && [ "$(calls tiny stderr)" = 101000 ] && [ "$(first stderr)" = busy ] && ! grep -q PROFTYPE stderr || fail "static: $status $(cat stderr)"
  # Numbers of system calls that come from elsewhere, by each way there is.
  for way in "mov \$56, %r9d; jmp 1f; 2: syscall; 1: mov %r9d, %eax; jmp 2b" "mov \$56, %esi; test %edi, %edi; je 1f; mov \$1, %esi; 1: mov %esi, %eax; syscall" \
    "mov %edi, %eax; syscall" "push \$56; pop %rax; syscall"; do
    { cat single.c; echo "__asm__(\".globl begins\n.type begins, @function\nbegins: .cfi_startproc; $way; ret\n.cfi_endproc\n.size begins, .-begins\"); void begins(int); void (*kept)(int) = begins;"; } >way.c
    compile way way.c -O1 -static
    run profld --trace --no-hooks -o traced way
    [ "$status" = 1 ] && grep -q 'way: it may make threads' stderr || fail "$way: $(cat stderr)"
    run prof run ./way
    [ "$status" = 7 ] && ! grep -q 'threads that nothing tells of' stderr || fail "$way: $(cat stderr)"
  done
  # Bytes beside functions: code to which control may come, by a table or by its address; and numbers in which a call stands.
  outside() { # NAME CODE: `place` is where what is in no function begins, after one
    { cat single.c; echo "__asm__(\".text\n.type before, @function\nbefore: .cfi_startproc; ret\n.cfi_endproc\n.size before, .-before\nplace: $2\n.globl begins\n.type begins, @function\nbegins: .cfi_startproc; lea place(%rip), %rax; ret\n.cfi_endproc\n.size begins, .-begins\"); void begins(int); void (*kept)(int) = begins;"; } >"$1.c"
    compile "$1" "$1.c" -O1 -static
    run prof run "./$1"
  }
  for code in 'mov \$56, %eax; syscall; ret' 'lea 2f(%rip), %rdx; movslq (%rdx,%rdi,4), %rax; add %rdx, %rax; jmp *%rax; 1: xor %eax, %eax; ret; 2: .long 1b-2b, 3f-2b; 3: mov \$56, %eax; syscall; ret'; do
    outside code "$code"
    [ "$status" = 7 ] && grep -q 'code: threads that nothing tells of may begin in it, .*; so it runs with hooks' stderr && grep -q PROFTYPE=time stderr || fail "$code: $(cat stderr)"
  done
  outside numbers '.quad 0x0607060706070607, 0x1122050f33445566; .fill 64, 8, 0x0607060706070607'
  [ "$status" = 7 ] && ! grep -q 'threads that nothing tells of' stderr || fail "numbers: $status $(cat stderr)"
  run prof run ./static more
  [ "$status" = 7 ] && [ "$(calls tiny stderr)" = 102000 ] && [ "$(first stderr)" = busy ] && ! grep -q 'threads that nothing tells of\|PROFTYPE' stderr || fail "static, threads: $(cat stderr)"
  run prof run --type auto ./code
  [ "$status" = 7 ] && grep -q 'code: threads .*, and its times are uncertain' stderr && [ "$(calls tiny stderr)" = 100000 ] || fail "locked: $(cat stderr)"
fi

# Code of a library that has a label and no unwind table, as the dynamic linker's _start, after a function that has one; and a
# label within a function.
if [ -n "$has_contexts" ]; then
  cat >labels.c <<'C'
__asm__(
    ".section .text.labels, \"ax\"\n.type before, @function\nbefore: .cfi_startproc\n  ret\n  .cfi_endproc\n.size before, .-before\n"
    "untold: mov $200000000, %eax\n1:  dec %eax\n  jne 1b\n  ret\n"
    ".globl told\n.type told, @function\ntold: .cfi_startproc\n  mov $100000000, %eax\nwithin:  dec %eax\n  jne within\n  jmp untold\n  .cfi_endproc\n"
    ".size told, .-told\n");
C
  echo 'void told(void); int main(void) { told(); return 0; }' >host.c
  compile liblabels.so labels.c -shared -fPIC
  compile host host.c -L. -llabels "-Wl,-rpath,$PWD"
  run prof run ./host
  [ "$(grep -oP '\t\K.*(?= \[liblabels.so\])' stderr | head -n 2 | paste -sd ' ')" = "untold told" ] || fail "labels: $(cat stderr)"
fi

# When prof run is killed, what was sampled by then is there; and the program goes on.
if [ -n "$has_contexts" ]; then
  sed 's/busy(400)/busy(3000)/' program.c >long.c
  compile long long.c -O1 -pthread
  mkdir killed
  (cd killed && PROFDIR=. exec prof run ../long >stdout 2>stderr) &
  until [ "$(cat killed/prof.*.samples 2>/dev/null | jq .user_samples)" -gt 100 ] 2>/dev/null; do kill -0 $! || fail "it has ended: $(cat killed/stderr)"; sleep 0.1; done
  # Meanwhile its times are shown, and recording cannot be switched.
  number=$(ls killed/prof.*[0-9])
  run prof top -n 1 "${number#*.}"
  grep -qP '\tbusy$' stdout || fail "top: $(cat stdout stderr)"
  for word in on off reset; do
    run prof ctl $word "${number#*.}"
    [ "$status" = 1 ] && grep -q ': the program counts blocks, so all of its run is counted; ' stderr || fail "ctl $word: $status $(cat stderr)"
  done
  kill -9 $!
  wait $! 2>/dev/null
  until [ "$(cat killed/stdout)" = done ]; do sleep 0.1; done
  run prof killed/prof.*
  [ "$status" = 0 ] && [ "$(first stdout)" = busy ] && [ "$(calls tiny stdout)" = 100000 ] && grep -q 'samples end before the program' stderr || fail "killed: $(cat stdout stderr)"
fi
