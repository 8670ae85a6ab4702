# prof trace: signals reach a program that is stepped as they would without it, and no instruction is lost or told twice for them.
. "${0%/*}/../common.inc"

cat >signals.c <<'END'
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int handled;
static void handle(int signal) { handled += signal; }
int main(int argc, char **argv) {
  int number = atoi(argv[1]), times = argc > 2 ? atoi(argv[2]) : 0;
  if (times) signal(number, handle);
  for (int i = 0; i < 100; ++i) __asm__ volatile("nop");
  for (int i = 0; i < times; ++i) raise(number);
  if (times) {
    signal(SIGUSR2, SIG_DFL);
    number = SIGUSR2;
  }
  return raise(number);
}
END
compile signals signals.c -O1 -static

# The protocol has other numbers for most signals than Linux.
number() { kill -l "$1"; }
for how in --buffer=64K --gdbserver; do
  for signal in USR1 BUS SEGV; do
    { timeout $forever prof trace $how -o trace -- ./signals "$(number $signal)" >stdout 2>stderr; } 2>/dev/null
    status=$?
    [ $status = $((128 + $(number $signal))) ] && [ ! -s stderr ] || fail "$how $signal: status $status, $(cat stderr)"
    prof itrace trace | grep -q "# signal $(number $signal)\$" && prof istat trace | sed -n 2p | grep -q "signal $(number $signal)\$" ||
      fail "$how $signal: $(prof istat trace | sed -n 2p), $(prof itrace trace | grep signal)"
  done
  # After the end of the trace, too: those with a handler, and the one that kills.
  { timeout $forever prof trace $how --limit 3K -o trace -- ./signals "$(number USR1)" 3 >stdout 2>stderr; } 2>/dev/null
  status=$?
  [ $status = $((128 + $(number USR2))) ] && grep -q 'has reached the size set by --limit' stderr || fail "$how --limit: status $status, $(cat stderr)"
done

# gdb gives signals its own names.
run timeout $forever gdb -batch -nx -ex 'target remote | proftarget --socket 0 ./signals 10' -ex continue -ex continue
grep -q 'received signal SIGUSR1' stdout && grep -q 'terminated with signal SIGUSR1' stdout || fail "gdb: $(cat stdout stderr)"

# Threads that stop for signals at once: each reaches its thread, also while gdb is told of another one first.
cat >raises.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
static atomic_int handled;
static void handle(int signal) { ++handled; }
static void *raises(void *n) {
  for (int i = 0; i < 100; ++i) raise(SIGUSR1);
  return n;
}
int main(void) {
  pthread_t threads[4];
  signal(SIGUSR1, handle);
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, raises, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  return handled / 100;
}
END
compile raises raises.c -O1 -static
run timeout $forever gdb -batch -nx -ex 'target remote | proftarget --socket 0 ./raises' -ex 'handle SIGUSR1 nostop noprint pass' -ex continue
grep -q 'exited with code 04' stdout || fail "gdb, threads: $(tail -n 1 stdout) $(cat stderr)"

# A thread that waits in a system call when the program ends.
cat >waits.S <<'END'
  .globl _start
_start:
  mov $0x10f00, %edi # CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD
  lea stack(%rip), %rsi
  mov $56, %eax
  syscall
  test %eax, %eax
  jz waits
  mov $300, %ebx # so often the other thread has its turn
again:
  mov $24, %eax
  syscall
  dec %ebx
  jnz again
  mov $3, %edi
  mov $231, %eax
  syscall
waits:
  mov $34, %eax
  syscall
  .bss
  .skip 4096
stack: .skip 64
END
compile waits waits.S -nostdlib -static
for how in --buffer=64K --blocks; do
  run timeout $forever prof trace $how -o trace -- ./waits
  [ "$status" = 3 ] && [ ! -s stderr ] || fail "$how, threads: status $status, $(cat stderr)"
  [ "$(prof itrace trace | grep -c '# thread ends')" = 2 ] || fail "$how, threads: $(prof itrace trace | tail -n 5)"
done

# What SIGCONT and SIGSTOP interrupt: the system call is told each time that it is made.
cat >reads.c <<'END'
#include <unistd.h>
int main(void) {
  char bytes[8];
  write(1, "reads\n", 6);
  return (int)read(0, bytes, sizeof bytes);
}
END
compile reads reads.c -O1 -static
state_is() { grep -q "^State:.$1" "/proc/$program/status" 2>/dev/null; }
for how in --buffer=64K --blocks; do
  rm -f input
  mkfifo input
  : >stdout # what the one before printed is not to be taken for this one's
  timeout $forever prof trace $how -o trace -- ./reads <input >stdout 2>stderr &
  tracing=$!
  exec 6>input
  until grep -q reads stdout; do kill -0 $tracing || fail "$how: $(cat stderr)"; done
  program=$(pgrep -x reads -s 0)
  until grep -q '^0 ' "/proc/$program/syscall" && state_is S; do :; done # it reads
  kill -CONT "$program"
  until grep -q '^0 ' "/proc/$program/syscall" && state_is S; do :; done
  echo hello >&6
  exec 6>&-
  wait $tracing
  status=$?
  [ $status = 6 ] && [ ! -s stderr ] || fail "SIGCONT $how: status $status, $(cat stderr)"
  prof itrace trace | sed -n '/# system call 0 /p; /read.*syscall/p' | cut -f 2,4 | sed -E 's/^0x.*\t//; s/ = .*=/ =/' >calls
  [ "$(sort calls | uniq -c | sed 's/^ *//' | paste -s -d ,)" = "1 # system call 0 = -4,1 # system call 0 = 6,2 syscall" ] || fail "SIGCONT $how: $(cat calls)"
done

# A program that is killed while a stretch runs: nobody knows how far it came, and the trace says so.
cat >stores.S <<'END'
  .globl _start
_start:
  mov $5, %ebp
  mov $1, %r8d
again:
  .rept 300 # it takes seconds, so that it is killed in here, and not while it waits to be stepped on
  lea memory(%rip), %rdi
  mov %r8, %rcx
  rep stosb
  .endr
  nop
  dec %ebp
  jnz again
  cmp $1, %r8d
  jne long
  mov $1, %edi
  lea text(%rip), %rsi
  mov $6, %edx
  mov $1, %eax
  syscall
long:
  mov $0x4000000, %r8d
  mov $1000000, %ebp
  jmp again
text: .ascii "began\n"
  .bss
memory: .skip 0x4000000
END
compile stores stores.S -nostdlib -static
timeout $forever prof trace --blocks --buffer 1K -o trace -- ./stores >stdout 2>stderr &
tracing=$!
until grep -q began stdout; do kill -0 $tracing || fail "--blocks: $(cat stderr)"; done
program=$(pgrep -x stores -s 0)
until [ "$(cut -d ' ' -f 14 "/proc/$program/stat")" -ge 5 ]; do kill -0 $tracing || fail "--blocks: $(cat stderr)"; done # it stores
kill -9 "$program"
{ wait $tracing; status=$?; } 2>/dev/null
[ $status = 137 ] || fail "--blocks, killed: status $status, $(cat stderr)"
# Virtual processors may not stop at breakpoints. Then nothing runs as a stretch, and nothing is missing.
cat >stops.S <<'END'
  .globl _start
_start:
  mov $60, %eax
place:
  xor %edi, %edi
  syscall
END
compile stops stops.S -nostdlib -static
if gdb -nx -q -batch -ex starti -ex 'hbreak *&place' -ex continue ./stops 2>&1 | grep -q '^Breakpoint 1, '; then
  prof itrace trace 2>stderr | tail -n 2 | grep -q '# instructions are missing$' && grep -q 'lacks some instructions' stderr ||
    fail "--blocks, killed: $(prof itrace trace | tail -n 3)"
else
  prof itrace trace 2>stderr | tail -n 2 | grep -q 'mov %r8, %rcx$' && [ ! -s stderr ] || fail "stepped, killed: $(prof itrace trace | tail -n 3)"
fi
