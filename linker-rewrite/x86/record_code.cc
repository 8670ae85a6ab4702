#include "record_code.h"

#include <algorithm>
#include <initializer_list>

#include "libprof/format/trace.h"

namespace profld {

namespace {

constexpr Condition kNotBelow{0x3}, kNotEqual{0x5};
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
void with_word(InstructionWriter& out, uint8_t opcode, uint8_t reg, NewAddr word) {
  put(out, {kGs, uint8_t(is_high(reg) ? 0x4c : 0x48), opcode, uint8_t(0x05 | low(reg) << 3)});
  put_number(out, uint32_t(displacement(out.here() + 4, word)));
}

// add $length, %gs:word(%rip); add $length, %reg.
void add_length(InstructionWriter& out, uint32_t length, uint8_t reg, NewAddr word) {
  const bool is_short = reaches_short(length);
  const uint8_t opcode = is_short ? opcode::kWithNumber8 : opcode::kWithNumber32;
  const auto put_length = [&] { is_short ? put(out, {uint8_t(length)}) : put_number(out, length); };
  put(out, {kGs, 0x48, opcode, 0x05});
  put_number(out, uint32_t(displacement(out.here() + (is_short ? 5 : 8), word)));
  put_length();
  put(out, {uint8_t(is_high(reg) ? 0x49 : 0x48), opcode, uint8_t(0xc0 | low(reg))});
  put_length();
}

void keep_flags(InstructionWriter& out) { put(out, {0x9f, 0x0f, 0x90, 0xc0}); }  // lahf; seto %al
void restore_flags(InstructionWriter& out) { put(out, {0x04, 0x7f, 0x9e}); }     // add $127, %al; sahf
bool has(const RecordCode& code, uint8_t value) { return std::ranges::find(code.values, value) != code.values.end(); }
bool uses_stack(const RecordCode& code) {
  return code.saves_scratch || code.saves_rax || code.saves_second || has(code, kProcessorFlags);
}

constexpr uint32_t kRedZone = 128, kWord = 8;

// What the code of a record has on the stack while it compares.
uint32_t depth_of(const RecordCode& code) {
  if (!uses_stack(code)) return 0;
  return kRedZone + (code.saves_rax ? kWord : 0) + (code.saves_second ? kWord : 0) + (code.saves_scratch ? kWord : 0);
}

// Writes the instructions that move the stack pointer, and notes where it is after each.
class StackWriter {
 public:
  StackWriter(InstructionWriter& out, uint32_t depth, std::vector<StackDepth>* depths)
      : out_(out), start_(out.size()), depth_(depth), depths_(depths) {}

  void leave_red_zone() {
    put(out_, {0x48, 0x8d, 0x64, 0x24, 0x80});  // lea -128(%rsp), %rsp
    moved_to(depth_ + kRedZone);
  }
  void return_to_red_zone() {
    put(out_, {0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0});  // lea 128(%rsp), %rsp
    moved_to(depth_ - kRedZone);
  }
  void push(uint8_t reg) {
    put(out_, {uint8_t(is_high(reg) ? 0x41 : 0x40), uint8_t(0x50 | low(reg))});
    moved_to(depth_ + kWord);
  }
  void push_number(uint32_t number) {
    put(out_, {opcode::kPushNumber});
    put_number(out_, number);
    moved_to(depth_ + kWord);
  }
  void push_flags() {
    put(out_, {0x9c});
    moved_to(depth_ + kWord);
  }
  void pop(uint8_t reg) {
    put(out_, {uint8_t(is_high(reg) ? 0x41 : 0x40), uint8_t(0x58 | low(reg))});
    moved_to(depth_ - kWord);
  }

 private:
  void moved_to(uint32_t depth) {
    depth_ = depth;
    if (depths_) depths_->push_back({uint32_t(out_.size() - start_), depth});
  }

  InstructionWriter& out_;
  const uint64_t start_;
  uint32_t depth_;
  std::vector<StackDepth>* const depths_;
};

// mov %from, %to.
void move(InstructionWriter& out, uint8_t from, uint8_t to) {
  put(out, {uint8_t(0x48 | (is_high(from) ? 4 : 0) | (is_high(to) ? 1 : 0)), opcode::kStore,
            uint8_t(0xc0 | low(from) << 3 | low(to))});
}

// The end of an instruction: offset(%base), which is not rsp or r12, and a register or a part of the opcode.
void put_place(InstructionWriter& out, uint8_t reg, uint8_t base, int32_t offset) {
  const auto registers = uint8_t(low(reg) << 3 | low(base));
  if (reaches_short(offset)) return put(out, {uint8_t(0x40 | registers), uint8_t(offset)});
  put(out, {uint8_t(0x80 | registers)});
  put_number(out, uint32_t(offset));
}

// mov %from, offset(%base).
void store(InstructionWriter& out, uint8_t from, uint8_t base, int32_t offset) {
  put(out, {uint8_t(0x48 | (is_high(from) ? 4 : 0) | (is_high(base) ? 1 : 0)), opcode::kStore});
  put_place(out, from, base, offset);
}

// Moves the base of fs to `to`, and from there to its place, if that is allowed.
void store_fs_base(InstructionWriter& out, uint8_t to, uint8_t base, int32_t offset, NewAddr reads_segments) {
  put(out, {kGs, opcode::kWithNumber8, 0x3d});  // cmpl $0, %gs:reads_segments(%rip)
  put_number(out, uint32_t(displacement(out.here() + 5, reads_segments)));
  put(out, {0});
  const uint8_t store_length = reaches_short(offset) ? 4 : 7;
  put(out, {0x74, uint8_t(5 + store_length)});                                                   // je
  put(out, {0xf3, uint8_t(0x48 | (is_high(to) ? 1 : 0)), 0x0f, 0xae, uint8_t(0xc0 | low(to))});  // rdfsbase
  store(out, to, base, offset);
}

void write_values(InstructionWriter& out, const RecordCode& code, uint32_t number, const TraceWords& words,
                  StackWriter& stack) {
  const auto length = int32_t(code.length());
  const auto offset_of = [&](size_t i) { return int32_t(code.size + i * sizeof(uint64_t)) - length; };
  // What the second register has had since before is first.
  for (const bool is_copied : {true, false})
    for (size_t i = 0; i < code.values.size(); ++i) {
      const uint8_t value = code.values[i];
      if ((value == kRax && code.keeps_flags) != is_copied) continue;
      if (value == kProcessorFlags) {
        stack.push_flags();
        stack.pop(code.second);
      }
      if (value == kFsBase)
        store_fs_base(out, code.second, code.scratch, offset_of(i), words.reads_segments);
      else
        store(out, value < kRegisters && !is_copied ? value : code.second, code.scratch, offset_of(i));
    }
  if (is_high(code.scratch)) put(out, {0x41});
  put(out, {0xc6});  // movb $whole, 3-length(%r)
  put_place(out, 0, code.scratch, 3 - length);
  put(out, {uint8_t(number >> 24 | 0x80)});
}

// As in the header. `depths`: if it is not null, the depths of the stack are appended.
NewAddr write_record(InstructionWriter& out, const RecordCode& code, uint32_t number, const TraceWords& words,
                     NewAddr full, std::vector<StackDepth>* depths) {
  StackWriter stack(out, 0, depths);
  if (uses_stack(code)) stack.leave_red_zone();
  if (code.saves_rax) stack.push(kRax);
  if (code.saves_second) stack.push(code.second);
  if (code.keeps_flags && has(code, kRax)) move(out, kRax, code.second);
  if (code.keeps_flags) keep_flags(out);
  if (code.saves_scratch) stack.push(code.scratch);

  const uint8_t reg = code.scratch;
  with_word(out, opcode::kLoad, reg, words.cursor);
  add_length(out, code.length(), reg, words.cursor);
  with_word(out, opcode::kCompareWith, reg, words.cursor);
  out.jump_if(kNotEqual, full);
  with_word(out, opcode::kCompare, reg, words.limit);
  out.jump_if(kNotBelow, full);
  const NewAddr back = out.here();
  const bool is_short = code.size == sizeof(uint16_t);
  number |= uint32_t(code.values.size() << prof_format::kRecordValuesShift);
  if (is_short) put(out, {opcode::kOperandSize});
  if (is_high(reg)) put(out, {0x41});
  put(out, {opcode::kMoveNumber});
  put_place(out, 0, reg, -int32_t(code.length()));
  if (is_short)
    put(out, {uint8_t(number), uint8_t(number >> 8)});
  else
    put_number(out, number);
  if (!code.values.empty()) write_values(out, code, number, words, stack);

  if (code.saves_scratch) stack.pop(code.scratch);
  if (code.keeps_flags) restore_flags(out);
  if (code.saves_second) stack.pop(code.second);
  if (code.saves_rax) stack.pop(kRax);
  if (uses_stack(code)) stack.return_to_red_zone();
  return back;
}

void write_full_window(InstructionWriter& out, const RecordCode& code, const TraceWords& words, NewAddr back,
                       std::vector<StackDepth>* depths) {
  StackWriter stack(out, depth_of(code), depths);
  stack.leave_red_zone();
  stack.push(code.scratch);
  stack.push_number(code.length());
  out.call_through(words.runtime);
  stack.pop(code.scratch);  // the number
  stack.pop(code.scratch);
  stack.return_to_red_zone();
  out.jump(back);
}

constexpr size_t kEnough = 1024;  // bytes, for each of the two
static_assert(prof_format::kMaxRecordValues * 7 < kEnough - 128);

}  // namespace

bool needs_second(const std::vector<uint8_t>& values, bool keeps_flags) {
  return std::ranges::any_of(
      values, [&](uint8_t v) { return v == kFsBase || v == kProcessorFlags || (v == kRax && keeps_flags); });
}

uint32_t depth_of_values(const RecordCode& code) { return depth_of(code); }

NewAddr write_record(InstructionWriter& out, const RecordCode& code, uint32_t number, const TraceWords& words,
                     NewAddr full) {
  return write_record(out, code, number, words, full, nullptr);
}

uint32_t length_of_record(const RecordCode& code) {
  uint8_t bytes[kEnough];
  InstructionWriter out(bytes, NewAddr());
  write_record(out, code, 0, {}, {}, nullptr);
  return uint32_t(out.size());
}

std::vector<StackDepth> stack_depths(const RecordCode& code) {
  std::vector<StackDepth> depths;
  uint8_t bytes[kEnough];
  InstructionWriter out(bytes, NewAddr());
  write_record(out, code, 0, {}, {}, &depths);
  return depths;
}

void write_full_window(InstructionWriter& out, const RecordCode& code, const TraceWords& words, NewAddr back) {
  write_full_window(out, code, words, back, nullptr);
}

std::vector<StackDepth> stack_depths_of_full_window(const RecordCode& code) {
  std::vector<StackDepth> depths{{0, depth_of(code)}};
  uint8_t bytes[kEnough];
  InstructionWriter out(bytes, NewAddr());
  write_full_window(out, code, {}, {}, &depths);
  return depths;
}

}  // namespace profld
