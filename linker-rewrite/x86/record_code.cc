#include "record_code.h"

#include <initializer_list>

namespace profld {

namespace {

constexpr Condition kNotBelow{0x3};
constexpr uint8_t kGs = 0x65;

void put(InstructionWriter& out, std::initializer_list<uint8_t> bytes) {
  out.copy(ByteView(bytes.begin(), bytes.size()));
}

void put_number(InstructionWriter& out, uint32_t number) {
  uint8_t bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.copy(bytes);
}

uint8_t low(uint8_t reg) { return reg & 7; }
bool is_high(uint8_t reg) { return reg >= 8; }

// op %gs:word(%rip), %reg, of 8 bytes.
void with_word(InstructionWriter& out, std::initializer_list<uint8_t> opcode, uint8_t reg, NewAddr word) {
  put(out, {kGs, uint8_t(is_high(reg) ? 0x4c : 0x48)});
  put(out, opcode);
  put(out, {uint8_t(0x05 | low(reg) << 3)});
  put_number(out, uint32_t(displacement(out.here() + 4, word)));
}

void push(InstructionWriter& out, uint8_t reg) {
  put(out, {uint8_t(is_high(reg) ? 0x41 : 0x40), uint8_t(0x50 | low(reg))});
}
void pop(InstructionWriter& out, uint8_t reg) {
  put(out, {uint8_t(is_high(reg) ? 0x41 : 0x40), uint8_t(0x58 | low(reg))});
}

void leave_red_zone(InstructionWriter& out) { put(out, {0x48, 0x8d, 0x64, 0x24, 0x80}); }  // lea -128(%rsp), %rsp
void return_to_red_zone(InstructionWriter& out) {                                          // lea 128(%rsp), %rsp
  put(out, {0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0});
}

void keep_flags(InstructionWriter& out) { put(out, {0x9f, 0x0f, 0x90, 0xc0}); }  // lahf; seto %al
void restore_flags(InstructionWriter& out) { put(out, {0x04, 0x7f, 0x9e}); }     // add $127, %al; sahf
bool uses_stack(const RecordCode& code) { return code.saves_scratch || code.saves_rax; }

}  // namespace

NewAddr write_record(InstructionWriter& out, const RecordCode& code, uint32_t number, const TraceWords& words,
                     NewAddr full) {
  if (uses_stack(code)) leave_red_zone(out);
  if (code.saves_rax) push(out, kRax);
  if (code.keeps_flags) keep_flags(out);
  if (code.saves_scratch) push(out, code.scratch);

  const uint8_t reg = code.scratch;
  if (is_high(reg)) put(out, {0x41});
  put(out, {uint8_t(opcode::kMoveNumberToRegister + low(reg))});
  put_number(out, code.size);
  with_word(out, {0x0f, 0xc1}, reg, words.cursor);
  with_word(out, {opcode::kCompare}, reg, words.limit);
  out.jump_if(kNotBelow, full);
  const NewAddr back = out.here();
  const bool is_short = code.size == sizeof(uint16_t);
  if (is_short) put(out, {opcode::kOperandSize});
  if (is_high(reg)) put(out, {0x41});
  put(out, {opcode::kMoveNumber, low(reg)});
  if (is_short)
    put(out, {uint8_t(number), uint8_t(number >> 8)});
  else
    put_number(out, number);

  if (code.saves_scratch) pop(out, code.scratch);
  if (code.keeps_flags) restore_flags(out);
  if (code.saves_rax) pop(out, kRax);
  if (uses_stack(code)) return_to_red_zone(out);
  return back;
}

uint32_t length_of_record(const RecordCode& code) {
  uint8_t bytes[128];
  InstructionWriter out(bytes, NewAddr());
  write_record(out, code, 0, {}, {});
  return uint32_t(out.size());
}

void write_full_window(InstructionWriter& out, const RecordCode& code, const TraceWords& words, NewAddr back) {
  leave_red_zone(out);
  push(out, code.scratch);
  put(out, {opcode::kPushNumber});
  put_number(out, code.size);
  out.call_through(words.runtime);
  pop(out, code.scratch);  // the number
  pop(out, code.scratch);
  return_to_red_zone(out);
  out.jump(back);
}

}  // namespace profld
