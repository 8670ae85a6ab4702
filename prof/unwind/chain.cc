#include "chain.h"

#include <dwarf.h>

#include <cstring>

namespace prof {

namespace {

constexpr size_t kMaxFrames = 8192;

struct NamedEnd {
  const char *name, *text;
};
constexpr NamedEnd kEnds[kChainEnds] = {{"whole", "whole"},
                                        {"no_table", "in code without unwind tables"},
                                        {"generated", "in code made at run time, without frame pointers"},
                                        {"no_code", "at an address without code"},
                                        {"cut_off", "deeper than the copied part of the stack"},
                                        {"other_stack", "on another stack"},
                                        {"not_followed", "at unwind tables that cannot be followed"},
                                        {"too_deep", "too deep"}};

// A frame's registers, as far as they are known. That of the return address is the program counter.
using Registers = std::array<std::optional<uint64_t>, kRegisters>;

// Computes an expression; none if a value in it is unknown, or an operation.
class Evaluation {
 public:
  Evaluation(const Registers& registers, const StackSlice& stack, std::optional<uint64_t> cfa)
      : registers_(registers), stack_(stack), cfa_(cfa) {}

  std::optional<uint64_t> value_of(const UnwindExpression& expression) {
    constexpr unsigned kMaxSteps = 1000;
    unsigned steps = 0;
    for (size_t at = 0; at < expression.size();) {
      if (++steps > kMaxSteps || !apply(expression[at])) return {};
      at = next(expression, at);
    }
    if (values_.empty()) return {};
    return values_.back();
  }

  // A read was tried from where the copy of the stack does not reach.
  std::optional<uint64_t> not_read() const { return not_read_; }

 private:
  bool push(std::optional<uint64_t> value) {
    if (value) values_.push_back(*value);
    return value.has_value();
  }
  std::optional<uint64_t> pop() {
    if (values_.empty()) return {};
    const uint64_t value = values_.back();
    values_.pop_back();
    return value;
  }
  bool push_register(uint64_t number, uint64_t offset) {
    if (number >= kRegisters || !registers_[number]) return false;
    return push(*registers_[number] + offset);
  }
  bool read_memory() {
    const std::optional<uint64_t> address = pop();
    if (!address) return false;
    const std::optional<uint64_t> value = stack_.read(*address);
    if (!value) not_read_ = address;
    return push(value);
  }

  bool apply(const UnwindOperation& o) {
    if (o.atom >= DW_OP_lit0 && o.atom <= DW_OP_lit31) return push(uint64_t(o.atom - DW_OP_lit0));
    if (o.atom >= DW_OP_breg0 && o.atom <= DW_OP_breg31) return push_register(uint64_t(o.atom - DW_OP_breg0), o.number);
    switch (o.atom) {
      case DW_OP_call_frame_cfa:
        return push(cfa_);
      case DW_OP_bregx:
        return push_register(o.number, o.number2);
      case DW_OP_const1u:
      case DW_OP_const1s:
      case DW_OP_const2u:
      case DW_OP_const2s:
      case DW_OP_const4u:
      case DW_OP_const4s:
      case DW_OP_const8u:
      case DW_OP_const8s:
      case DW_OP_constu:
      case DW_OP_consts:
        return push(o.number);
      case DW_OP_deref:
        return read_memory();
      case DW_OP_nop:
      case DW_OP_skip:
        return true;
      case DW_OP_drop:
        return pop().has_value();
      case DW_OP_dup:
        return !values_.empty() && push(values_.back());
      case DW_OP_plus_uconst:
        return apply_one([&](uint64_t a) { return a + o.number; });
      case DW_OP_neg:
        return apply_one([](uint64_t a) { return 0 - a; });
      case DW_OP_not:
        return apply_one([](uint64_t a) { return ~a; });
      case DW_OP_bra: {
        const std::optional<uint64_t> a = pop();
        branches_ = a && *a != 0;
        return a.has_value();
      }
      default:
        return apply_two(o.atom);
    }
  }

  template <class Operation>
  bool apply_one(const Operation& operation) {
    const std::optional<uint64_t> a = pop();
    return a && push(operation(*a));
  }

  bool apply_two(uint8_t atom) {
    const std::optional<uint64_t> b = pop(), a = pop();
    if (!a || !b) return false;
    const auto x = int64_t(*a), y = int64_t(*b);
    switch (atom) {
      case DW_OP_plus:
        return push(*a + *b);
      case DW_OP_minus:
        return push(*a - *b);
      case DW_OP_mul:
        return push(*a * *b);
      case DW_OP_and:
        return push(*a & *b);
      case DW_OP_or:
        return push(*a | *b);
      case DW_OP_xor:
        return push(*a ^ *b);
      case DW_OP_shl:
        return push(*b < 64 ? *a << *b : 0);
      case DW_OP_shr:
        return push(*b < 64 ? *a >> *b : 0);
      case DW_OP_eq:
        return push(x == y);
      case DW_OP_ne:
        return push(x != y);
      case DW_OP_ge:
        return push(x >= y);
      case DW_OP_gt:
        return push(x > y);
      case DW_OP_le:
        return push(x <= y);
      case DW_OP_lt:
        return push(x < y);
      case DW_OP_swap:
        return push(*b) && push(*a);
      default:
        return false;
    }
  }

  // Of the operation after this one, or where it branches to, which counts from its end of three bytes.
  size_t next(const UnwindExpression& expression, size_t at) {
    const UnwindOperation& o = expression[at];
    const bool branches = o.atom == DW_OP_skip || (o.atom == DW_OP_bra && branches_);
    if (!branches) return at + 1;
    const uint64_t target = o.offset + 3 + o.number;
    for (size_t i = 0; i < expression.size(); ++i)
      if (expression[i].offset == target) return i;
    return expression.size();
  }

  const Registers& registers_;
  const StackSlice& stack_;
  const std::optional<uint64_t> cfa_;
  std::vector<uint64_t> values_;
  bool branches_ = false;
  std::optional<uint64_t> not_read_;
};

class Walk {
 public:
  Walk(const ThreadState& state, const FindCode& find, std::vector<FramePlace>& frames)
      : stack_(state.stack), find_(find), frames_(frames) {
    for (size_t r = 0; r < state.registers.size(); ++r) registers_[r] = state.registers[r];
    registers_[kReturnAddress] = state.pc;
  }

  ChainEnd follow() {
    frames_.clear();
    for (;;) {
      if (frames_.size() >= kMaxFrames) return ChainEnd::too_deep;
      // A call may be a function's last instruction, after which another one begins.
      const uint64_t pc = *registers_[kReturnAddress] - (is_exact_ ? 0 : 1);
      const std::optional<FoundCode> code = find_(pc);
      if (!code) return ChainEnd::no_code;
      frames_.push_back(code->place);
      const std::optional<ChainEnd> end = code->table ? leave(*code) : leave_by_frame_pointer();
      if (end) return *end;
      // Where a thread begins there is often a 0 in place of a return address.
      if (*registers_[kReturnAddress] == 0) return ChainEnd::whole;
    }
  }

 private:
  // Why an address is not in the copy of the stack.
  ChainEnd reason(uint64_t address) const {
    constexpr uint64_t kMaxStack = uint64_t(1) << 30;
    const uint64_t end = stack_.start + stack_.bytes.size();
    return address >= stack_.start && address < end + kMaxStack && address + 8 > end ? ChainEnd::cut_off
                                                                                     : ChainEnd::other_stack;
  }

  std::optional<ChainEnd> leave(const FoundCode& code) {
    const UnwindRule* rule = code.table->rule(code.place.offset);
    if (!rule) return code.table->is_entry(code.place.offset) ? ChainEnd::whole : ChainEnd::no_table;
    if (rule->is_outermost) return ChainEnd::whole;
    Evaluation of_cfa(registers_, stack_, {});
    const std::optional<uint64_t> cfa = of_cfa.value_of(rule->cfa);
    if (!cfa) return of_cfa.not_read() ? reason(*of_cfa.not_read()) : ChainEnd::not_followed;
    // On the same stack a caller's frame is further up.
    if (!rule->is_signal_frame && *cfa <= *registers_[kRsp])
      return *cfa < stack_.start ? ChainEnd::other_stack : ChainEnd::not_followed;
    Registers caller = registers_;
    caller[kRsp] = *cfa;
    caller[kReturnAddress].reset();
    for (const RegisterRule& r : rule->registers) {
      Evaluation evaluation(registers_, stack_, cfa);
      caller[r.number] = evaluation.value_of(r.value);
      if (r.is_address && caller[r.number]) caller[r.number] = saved(r, *caller[r.number], code);
      if (r.number != kReturnAddress || caller[r.number]) continue;
      return reason(evaluation.not_read() ? *evaluation.not_read() : not_read_);
    }
    registers_ = caller;
    is_exact_ = rule->is_signal_frame;
    return {};
  }

  // A register that is saved at an address.
  std::optional<uint64_t> saved(const RegisterRule& rule, uint64_t address, const FoundCode& code) {
    const bool is_popped = is_exact_ && rule.number != kReturnAddress && address < *registers_[kRsp];
    if (is_popped && code.table->ends_function(code.place.offset)) return registers_[rule.number];
    const std::optional<uint64_t> value = stack_.read(address);
    if (!value) not_read_ = address;
    return value;
  }

  // Code that is made at run time has no tables; what makes it mostly keeps frame pointers, for debuggers and
  // profilers.
  std::optional<ChainEnd> leave_by_frame_pointer() {
    const std::optional<uint64_t> frame = registers_[kRbp];
    if (!frame || *frame < *registers_[kRsp] || *frame % 8 != 0) return ChainEnd::generated;
    const std::optional<uint64_t> saved = stack_.read(*frame), back = stack_.read(*frame + 8);
    if (!saved || !back) return reason(*frame + 8);
    if (*back == 0 || !find_(*back - 1)) return ChainEnd::generated;
    registers_ = {};
    registers_[kRbp] = saved;
    registers_[kRsp] = *frame + 16;
    registers_[kReturnAddress] = back;
    is_exact_ = false;
    return {};
  }

  const StackSlice& stack_;
  const FindCode& find_;
  std::vector<FramePlace>& frames_;
  Registers registers_;
  bool is_exact_ = true;  // the program counter is at an instruction, and not after a call
  uint64_t not_read_ = 0;
};

}  // namespace

const char* name_of(ChainEnd end) { return kEnds[unsigned(end)].name; }
const char* text_of(ChainEnd end) { return kEnds[unsigned(end)].text; }

std::optional<uint64_t> StackSlice::read(uint64_t address) const {
  const uint64_t at = address - start;
  if (address < start || at > bytes.size() || bytes.size() - at < sizeof(uint64_t)) return {};
  uint64_t value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

ChainEnd chain_of(const ThreadState& state, const FindCode& find, std::vector<FramePlace>& frames) {
  return Walk(state, find, frames).follow();
}

}  // namespace prof
