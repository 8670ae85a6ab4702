// All system calls of the runtime ask here (syscall.h): so there are none here, nor anything that makes some.

#include "allowed_calls.h"

#include <linux/filter.h>

#include "words.h"

namespace libprof {

uint32_t is_sandboxed;

namespace {

constexpr uint32_t kMaxFilters = 32768;  // more than the kernel takes: instructions of all together

SeenFilter* newest_filter;
uint32_t all_is_forbidden;  // for how many reasons

}  // namespace

bool may_call(int64_t number, const uint64_t (&arguments)[6]) {
  if (load(&all_is_forbidden) != 0) return false;
  SystemCall call = {int32_t(number), kThisArchitecture, 0, {}};
  __builtin_memcpy(call.arguments, arguments, sizeof arguments);
  uint32_t left = kMaxFilters;
  for (SeenFilter* f = __atomic_load_n(&newest_filter, __ATOMIC_ACQUIRE); f && left != 0; f = f->next, --left) {
    const uint32_t action = run_filter(f->instructions, f->size, call) & kFilterAction;
    if (action != kFilterAllows && action != kFilterLogs) return false;
  }
  return true;
}

void obey_filter(SeenFilter* kept, const FilterInstruction* instructions, uint64_t size) {
  kept->size = size;
  __builtin_memcpy(kept->instructions, instructions, size * sizeof(FilterInstruction));
  kept->next = load(&newest_filter);
  while (!__atomic_compare_exchange_n(&newest_filter, &kept->next, kept, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

void forbid_all_calls() {
  __atomic_fetch_add(&all_is_forbidden, 1, __ATOMIC_SEQ_CST);
  __atomic_store_n(&is_sandboxed, 1, __ATOMIC_SEQ_CST);
}

void undo_forbid_all_calls() { __atomic_fetch_sub(&all_is_forbidden, 1, __ATOMIC_SEQ_CST); }

namespace {

constexpr uint32_t kWords = BPF_MEMWORDS;

struct Machine {
  uint32_t a = 0, x = 0;
  uint32_t memory[kWords] = {};
};

bool is_arithmetic(uint16_t code) { return BPF_CLASS(code) == BPF_ALU; }
bool is_jump(uint16_t code) { return BPF_CLASS(code) == BPF_JMP; }

// False if there is no such instruction, or division by 0, which ends the filter with the answer 0 (kill the thread).
bool calculate(Machine* m, const FilterInstruction& i) {
  const uint32_t operand = BPF_SRC(i.code) == BPF_X ? m->x : i.k;
  switch (BPF_OP(i.code)) {
    case BPF_ADD:
      m->a += operand;
      return true;
    case BPF_SUB:
      m->a -= operand;
      return true;
    case BPF_MUL:
      m->a *= operand;
      return true;
    case BPF_DIV:
      if (operand == 0) return false;
      m->a /= operand;
      return true;
    case BPF_OR:
      m->a |= operand;
      return true;
    case BPF_AND:
      m->a &= operand;
      return true;
    case BPF_XOR:
      m->a ^= operand;
      return true;
    case BPF_LSH:
      m->a <<= operand & 31;
      return true;
    case BPF_RSH:
      m->a >>= operand & 31;
      return true;
    case BPF_NEG:
      m->a = 0 - m->a;
      return true;
    default:
      return false;
  }
}

// How many instructions to skip; ~0 if there is no such jump.
uint32_t skipped(const Machine& m, const FilterInstruction& i) {
  const uint32_t operand = BPF_SRC(i.code) == BPF_X ? m.x : i.k;
  switch (BPF_OP(i.code)) {
    case BPF_JA:
      return i.k;
    case BPF_JEQ:
      return m.a == operand ? i.if_true : i.if_false;
    case BPF_JGT:
      return m.a > operand ? i.if_true : i.if_false;
    case BPF_JGE:
      return m.a >= operand ? i.if_true : i.if_false;
    case BPF_JSET:
      return m.a & operand ? i.if_true : i.if_false;
    default:
      return ~uint32_t(0);
  }
}

// A word of the call's data at a byte offset. False if it is not known here, or there is none.
bool load_word(const SystemCall& call, uint32_t offset, uint32_t* to) {
  const bool is_of_instruction =
      offset == offsetof(SystemCall, instruction) || offset == offsetof(SystemCall, instruction) + 4;
  if (offset % 4 != 0 || offset >= sizeof call || is_of_instruction) return false;
  *to = reinterpret_cast<const uint32_t*>(&call)[offset / 4];
  return true;
}

// Runs an instruction that is neither arithmetic, nor a jump, nor an answer. False if that is not possible.
bool move(Machine* m, const FilterInstruction& i, const SystemCall& call) {
  switch (i.code) {
    case BPF_LD | BPF_W | BPF_ABS:
      return load_word(call, i.k, &m->a);
    case BPF_LD | BPF_W | BPF_LEN:
      m->a = sizeof call;
      return true;
    case BPF_LDX | BPF_W | BPF_LEN:
      m->x = sizeof call;
      return true;
    case BPF_LD | BPF_IMM:
      m->a = i.k;
      return true;
    case BPF_LDX | BPF_IMM:
      m->x = i.k;
      return true;
    case BPF_MISC | BPF_TAX:
      m->x = m->a;
      return true;
    case BPF_MISC | BPF_TXA:
      m->a = m->x;
      return true;
    default:
      break;
  }
  if (i.k >= kWords) return false;
  switch (i.code) {
    case BPF_LD | BPF_MEM:
      m->a = m->memory[i.k];
      return true;
    case BPF_LDX | BPF_MEM:
      m->x = m->memory[i.k];
      return true;
    case BPF_ST:
      m->memory[i.k] = m->a;
      return true;
    case BPF_STX:
      m->memory[i.k] = m->x;
      return true;
    default:
      return false;
  }
}

}  // namespace

uint32_t run_filter(const FilterInstruction* filter, size_t size, const SystemCall& call) {
  Machine m;
  // Jumps lead forwards only, so this ends.
  for (size_t at = 0; at < size; ++at) {
    const FilterInstruction& i = filter[at];
    if (i.code == (BPF_RET | BPF_K)) return i.k;
    if (i.code == (BPF_RET | BPF_A)) return m.a;
    if (is_jump(i.code)) {
      const uint32_t n = skipped(m, i);
      if (n >= size - at) return kFilterKills;
      at += n;
    } else if (!(is_arithmetic(i.code) ? calculate(&m, i) : move(&m, i, call))) {
      return kFilterKills;
    }
  }
  return kFilterKills;
}

}  // namespace libprof
