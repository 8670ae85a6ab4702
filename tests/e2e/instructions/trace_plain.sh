# prof trace: what proftarget runs in the program's stead does what the program does by itself, and is recorded as it is when the
# program stops after each instruction.
. "${0%/*}/../common.inc"

# Plain instructions in all forms: the same results, and the same trace.
compile plain "$programs/plain.S" -nostdlib -static -no-pie
./plain a b >expected
[ "$(wc -c <expected)" -gt 1000000 ] || fail "plain: $(wc -c <expected) bytes"
# listed FILE: without addresses of the kernel's choice.
listed() { prof itrace "$1" | cut -f 2- | sed -E 's/0x[0-9a-f]{9,}//g'; }
for how in --step-each --buffer=64K --buffer=0 --blocks "--blocks --step-each"; do
  # shellcheck disable=SC2086 # a list of words
  run timeout $forever prof trace $how -o trace -- ./plain a b
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "plain, $how: status $status, $(cat stderr)"
  cmp -s stdout expected || fail "plain, $how: $(cmp stdout expected)"
  case $how in
    --step-each) listed trace >each ;;
    *--blocks*) listed trace | cut -f 1-3 | cmp -s - <(cut -f 1-3 each) || fail "plain, $how: another trace" ;;
    *) listed trace | cmp -s - each || fail "plain, $how: $(listed trace | diff - each | head -n 5)" ;;
  esac
done

# Faults, code that changes itself, memory of others, signals.
compile faults "$programs/faults.c" -O1 -static
./faults >expected
grep -q '^ticks: 1$' expected && grep -q '^trap flag: 0$' expected && grep -q '^signals: 1 1 2$' expected &&
  grep -q '^code: SEGV at 0$' expected || fail "faults: $(tail -n 2 expected)"
for how in --buffer=64K --blocks --no-pin --follow-forks --step-each; do
  turn || continue
  run timeout $forever prof trace $how -o trace -- ./faults
  [ "$status" = 0 ] && [ ! -s stderr ] || fail "faults, $how: status $status, $(cat stderr)"
  cmp -s stdout expected || fail "faults, $how: $(diff stdout expected)"
done

# What a program that ends itself does not come to is not in the trace.
cat >ends.S <<'END'
  .globl _start
_start:
  mov $39, %eax # getpid
  syscall
  mov %eax, %edi
  mov $10, %esi
  mov $62, %eax # kill
  syscall
1:inc %ebx
  jmp 1b
END
compile ends ends.S -nostdlib -static
for how in --buffer=64K --blocks --step-each; do
  { timeout $forever prof trace $how -o trace -- ./ends >stdout 2>stderr; } 2>/dev/null
  [ "$(prof istat trace | head -n 1)" = "6 instructions" ] || fail "ends, $how: $(prof istat trace | head -n 1), $(cat stderr)"
done

# The processor stops after an instruction because of a flag. The program does not see it: not in what it pushes, nor when it goes on
# by itself, whether because the trace takes no more or because it is another process.
cat >flags.S <<'END'
  .globl _start
_start:
  xor %r12d, %r12d
  mov $5000, %ebx
1:
  pushf
  pushf
  pop %rax
  test $0x100, %eax
  jz 2f
  mov $1, %r12d
2:
  popf
  pushf # also where only the processor can pop them: the flag that says that there is cpuid changes
  xorl $0x200000, (%rsp)
  popf
  dec %ebx
  jnz 1b
  mov $57, %eax # fork
  syscall
  test %eax, %eax
  jz 3f
  mov $61, %eax # wait4
  mov $-1, %rdi
  lea -8(%rsp), %rsi
  movq $1, (%rsi)
  xor %edx, %edx
  xor %r10d, %r10d
  syscall
  mov -8(%rsp), %edi
  or %edi, %r12d
3:
  nop
  mov $60, %eax
  mov %r12d, %edi
  syscall
END
compile flags flags.S -nostdlib -static
./flags || fail "flags: status $?"
for how in --buffer=64K --step-each --blocks "--blocks --step-each" "--buffer 1K --limit 2K" "--buffer 1K --limit 2K --step-each"; do
  turn || continue
  # shellcheck disable=SC2086 # a list of words
  run timeout $forever prof trace $how -o trace -- ./flags
  [ "$status" = 0 ] || fail "flags, $how: status $status, $(cat stderr)"
done
