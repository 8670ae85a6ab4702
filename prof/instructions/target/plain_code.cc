#include "plain_code.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

// void prof_target_run_native(NativeFrame* frame, const void* code)
//
// Leaves the frame's address and the code's on the stack, since no register is free for them.
__asm__(
    "  .text\n"
    "  .type prof_target_run_native, @function\n"
    "prof_target_run_native:\n"
    "  push %rbx\n"
    "  push %rbp\n"
    "  push %r12\n"
    "  push %r13\n"
    "  push %r14\n"
    "  push %r15\n"
    "  push %rsi\n"
    "  push %rdi\n"
    "  push 128(%rdi)\n"
    "  popfq\n"
    "  mov (%rdi), %rax\n"
    "  mov 8(%rdi), %rcx\n"
    "  mov 16(%rdi), %rdx\n"
    "  mov 24(%rdi), %rbx\n"
    "  mov 40(%rdi), %rbp\n"
    "  mov 48(%rdi), %rsi\n"
    "  mov 64(%rdi), %r8\n"
    "  mov 72(%rdi), %r9\n"
    "  mov 80(%rdi), %r10\n"
    "  mov 88(%rdi), %r11\n"
    "  mov 96(%rdi), %r12\n"
    "  mov 104(%rdi), %r13\n"
    "  mov 112(%rdi), %r14\n"
    "  mov 120(%rdi), %r15\n"
    "  mov 56(%rdi), %rdi\n"
    "  call *8(%rsp)\n"
    "  xchg %rdi, (%rsp)\n"
    "  mov %rax, (%rdi)\n"
    "  mov %rcx, 8(%rdi)\n"
    "  mov %rdx, 16(%rdi)\n"
    "  mov %rbx, 24(%rdi)\n"
    "  mov %rbp, 40(%rdi)\n"
    "  mov %rsi, 48(%rdi)\n"
    "  mov %r8, 64(%rdi)\n"
    "  mov %r9, 72(%rdi)\n"
    "  mov %r10, 80(%rdi)\n"
    "  mov %r11, 88(%rdi)\n"
    "  mov %r12, 96(%rdi)\n"
    "  mov %r13, 104(%rdi)\n"
    "  mov %r14, 112(%rdi)\n"
    "  mov %r15, 120(%rdi)\n"
    "  pop 56(%rdi)\n"
    "  pushfq\n"
    "  pop 128(%rdi)\n"
    "  add $8, %rsp\n"
    "  pop %r15\n"
    "  pop %r14\n"
    "  pop %r13\n"
    "  pop %r12\n"
    "  pop %rbp\n"
    "  pop %rbx\n"
    "  ret\n"
    "  .size prof_target_run_native, . - prof_target_run_native\n");

extern "C" void prof_target_run_native(prof::target::NativeFrame* frame, const void* code);

namespace prof::target {

namespace {

constexpr size_t kSize = 1 << 20;
constexpr size_t kCode =
    4096;  // where the code begins: away from the operand, or writing that would make the processor look for
           // changed code
constexpr uint8_t kReturn = 0xc3;

static_assert(offsetof(NativeFrame, flags) == 128);

}  // namespace

NativeCode::NativeCode() {
  void* const got = mmap(nullptr, kSize, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got != MAP_FAILED) memory_ = static_cast<uint8_t*>(got);
  clear();
}

NativeCode::~NativeCode() {
  if (memory_) munmap(memory_, kSize);
}

void NativeCode::clear() {
  known_.clear();
  used_ = kCode;
}

// What is the same before the place of its operand is known is the same after that: it is stored as it came, and then
// as it runs.
const void* NativeCode::add(const NativeBytes& bytes) {
  const std::string_view key(reinterpret_cast<const char*>(bytes.bytes.data()), bytes.size);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const size_t needed = 2 * size_t(bytes.size) + 1;
  if (!memory_ || used_ + needed > kSize) return nullptr;
  uint8_t* const as_it_came = memory_ + used_;
  uint8_t* const code = as_it_came + bytes.size;
  std::memcpy(as_it_came, bytes.bytes.data(), bytes.size);
  std::memcpy(code, bytes.bytes.data(), bytes.size);
  code[bytes.size] = kReturn;
  if (bytes.displacement_at != 0) {
    const auto distance = int32_t(memory_ - (code + bytes.size));
    std::memcpy(code + bytes.displacement_at, &distance, sizeof distance);
  }
  used_ += needed;
  known_.emplace(std::string_view(reinterpret_cast<const char*>(as_it_came), bytes.size), code);
  return code;
}

void NativeCode::run(const void* code, NativeFrame& frame) const { prof_target_run_native(&frame, code); }

}  // namespace prof::target

namespace prof::target {

namespace {

using Kind = PlainInstruction::Kind;

constexpr size_t kLongest = 15;            // bytes of an instruction
constexpr size_t kMaxItems = 32;           // of a block
constexpr size_t kMaxInstructions = 4096;  // to a batch: then signals, and other threads, have their turn
constexpr uint64_t kMaxAddress = uint64_t(1) << 47;
constexpr uint64_t kUserCode = 0x33;  // the segment of 64-bit code
constexpr uint64_t kCarry = 1, kParity = 4, kZero = 0x40, kSign = 0x80, kTrap = 0x100, kDirection = 0x400,
                   kOverflow = 0x800, kResume = 0x10000, kPrivilege = 0x3000, kNested = 0x4000, kAligned = 0x40000,
                   kIdentification = 0x200000;

uint64_t address_of(const PlainInstruction& plain, const PlainState& state) {
  const PlainMemory& memory = plain.memory;
  const auto& registers = state.general.registers;
  auto address = uint64_t(int64_t(memory.displacement));
  if (memory.is_relative) address += state.at + plain.size;
  if (memory.base != kNoRegister) address += registers[memory.base];
  if (memory.index != kNoRegister) address += registers[memory.index] << memory.shift;
  if (memory.is_short) address = uint32_t(address);
  if (plain.kind == Kind::address) return address;
  switch (memory.segment) {
    case PlainMemory::Segment::fs:
      return address + state.fs_base;
    case PlainMemory::Segment::gs:
      return address + state.gs_base;
    default:
      return address;
  }
}

bool is_met(uint8_t condition, uint64_t flags) {
  const auto has = [flags](uint64_t flag) { return (flags & flag) != 0; };
  bool is = false;
  switch (condition >> 1) {
    case 0:
      is = has(kOverflow);
      break;
    case 1:
      is = has(kCarry);
      break;
    case 2:
      is = has(kZero);
      break;
    case 3:
      is = has(kCarry | kZero);
      break;
    case 4:
      is = has(kSign);
      break;
    case 5:
      is = has(kParity);
      break;
    case 6:
      is = has(kSign) != has(kOverflow);
      break;
    default:
      is = has(kZero) || has(kSign) != has(kOverflow);
      break;
  }
  return is != ((condition & 1) != 0);
}

int64_t extended(uint64_t value, unsigned width) {
  const unsigned unused = 64 - 8 * width;
  return int64_t(value << unused) >> unused;
}

uint64_t cut(uint64_t value, unsigned width) { return width == 8 ? value : value & ((uint64_t(1) << 8 * width) - 1); }

// A division that certainly gives a result.
bool can_divide(const PlainInstruction& plain, const NativeFrame& before, uint64_t divisor) {
  const uint64_t low = before.registers[plain_rax], high = before.registers[plain_rdx];
  if (cut(divisor, plain.width) == 0) return false;
  if (!plain.is_signed) return cut(high, plain.width) < cut(divisor, plain.width);
  const int64_t dividend = extended(low, plain.width);
  const int64_t least = extended(uint64_t(1) << (8 * plain.width - 1), plain.width);
  return extended(high, plain.width) == (dividend < 0 ? -1 : 0) &&
         !(dividend == least && extended(divisor, plain.width) == -1);
}

// Where control always goes on after it; 0 if that is not known.
uint64_t next_of(const PlainInstruction& plain, uint64_t address) {
  const uint64_t after = address + plain.size;
  switch (plain.kind) {
    case Kind::jump:
    case Kind::call:
      return after + uint64_t(plain.immediate);
    case Kind::branch:
    case Kind::jump_to:
    case Kind::call_to:
    case Kind::comes_back:
      return 0;
    default:
      return after;
  }
}

PlainState state_of(const user_regs_struct& from) {
  return {{{from.rax, from.rcx, from.rdx, from.rbx, from.rsp, from.rbp, from.rsi, from.rdi, from.r8, from.r9, from.r10,
            from.r11, from.r12, from.r13, from.r14, from.r15},
           from.eflags},
          from.rip,
          from.fs_base,
          from.gs_base};
}

void put_state(const PlainState& from, user_regs_struct& to) {
  const auto& r = from.general.registers;
  to.rax = r[0], to.rcx = r[1], to.rdx = r[2], to.rbx = r[3], to.rsp = r[4], to.rbp = r[5], to.rsi = r[6],
  to.rdi = r[7];
  to.r8 = r[8], to.r9 = r[9], to.r10 = r[10], to.r11 = r[11], to.r12 = r[12], to.r13 = r[13], to.r14 = r[14],
  to.r15 = r[15];
  to.eflags = from.general.flags & ~kResume;  // which holds for one instruction
  to.rip = from.at;
  to.orig_rax = ~0ull;  // no system call is after it that the kernel might make again
}

}  // namespace

bool PlainCode::can_run(const user_regs_struct& registers) {
  return registers.cs == kUserCode && !(registers.eflags & (kTrap | kAligned));
}

bool PlainCode::may_run(uint64_t address) const {
  if (!native_.is_there()) return false;
  const auto found = blocks_.find(address);
  return found == blocks_.end() || !found->second.items.empty();
}

void PlainCode::forget() { blocks_.clear(); }

const PlainCode::Block* PlainCode::find(uint64_t address, BatchMemory& memory, Watcher& watcher) {
  std::array<char, (kMaxItems + 1) * kLongest> now;
  const auto known = blocks_.find(address);
  if (known != blocks_.end()) {
    const std::string& bytes = known->second.bytes;
    if (memory.read_code(address, now.data(), bytes.size()) == bytes.size() &&
        std::memcmp(now.data(), bytes.data(), bytes.size()) == 0)
      return &known->second;
    blocks_.erase(known);
  }
  const std::string_view code(now.data(), memory.read_code(address, now.data(), now.size()));
  if (code.empty()) return nullptr;
  Block made;
  size_t size = 0;
  for (bool goes_on = true; goes_on && made.items.size() < kMaxItems;) {
    const auto plain = decode_plain(code.substr(size));
    if (!plain) break;
    const void* native = nullptr;
    if (plain->native.size != 0 && !(native = native_.add(plain->native))) {
      blocks_.clear();
      native_.clear();  // it is full
      return find(address, memory, watcher);
    }
    made.items.push_back({*plain, native});
    goes_on = next_of(*plain, address + size) == address + size + plain->size;
    size += plain->size;
  }
  made.bytes = code.substr(0, size + kLongest);
  uint64_t at = address;
  for (const Item& item : made.items) {
    watcher.found(at, code.substr(at - address, kLongest), item.plain.size, next_of(item.plain, at));
    at += item.plain.size;
  }
  return &(blocks_[address] = std::move(made));
}

size_t PlainCode::run(user_regs_struct& registers, BatchMemory& memory, Watcher& watcher) {
  PlainState state = state_of(registers), after = state;
  size_t count = 0;
  for (bool is_stopped = false; !is_stopped;) {
    const Block* const block = find(state.at, memory, watcher);
    if (!block || block->items.empty()) break;
    begin_ = state.at;
    end_ = begin_ + block->bytes.size();
    has_changed_ = false;
    for (auto item = block->items.begin(); item != block->items.end() && !is_stopped && !has_changed_;) {
      is_stopped =
          count == kMaxInstructions || (state.general.flags & kAligned) != 0 || !execute(*item, state, after, memory);
      if (is_stopped) break;
      const bool goes_on = !item->plain.is_repeated || after.at != state.at;
      watcher.ran(state, goes_on ? item->plain.size : 0);
      state = after;
      ++count;
      if (goes_on) ++item;
    }
  }
  if (count != 0) put_state(state, registers);
  return count;
}

// `after` is the same as `before` when it begins; it is of no use if this is false.
bool PlainCode::execute(const Item& item, const PlainState& before, PlainState& after, BatchMemory& memory) {
  const PlainInstruction& plain = item.plain;
  after.at = before.at + plain.size;
  switch (plain.kind) {
    case Kind::computes:
    case Kind::divides:
      return compute(item, before, after, memory);
    case Kind::nothing:
      return true;
    case Kind::address: {
      const uint64_t address = address_of(plain, before);
      uint64_t& to = after.general.registers[plain.reg];
      to = plain.width == 2 ? (to & ~uint64_t(0xffff)) | cut(address, 2) : cut(address, plain.width);
      return true;
    }
    case Kind::direction:
      after.general.flags = (before.general.flags & ~kDirection) | (plain.immediate ? kDirection : 0);
      return true;
    case Kind::push:
    case Kind::pop:
    case Kind::push_flags:
    case Kind::pop_flags:
    case Kind::leave:
      return use_stack(plain, before, after, memory);
    case Kind::move:
    case Kind::store:
      return use_string(plain, before, after, memory);
    default:
      return pass_control(plain, before, after, memory);
  }
}

bool PlainCode::compute(const Item& item, const PlainState& before, PlainState& after, BatchMemory& memory) {
  const PlainInstruction& plain = item.plain;
  const uint64_t address = plain.has_memory ? address_of(plain, before) : 0;
  if (plain.reads && !memory.read(address, native_.operand(), plain.width)) return false;
  if (plain.kind == Kind::divides) {
    uint64_t divisor = 0;
    if (plain.has_memory)
      std::memcpy(&divisor, native_.operand(), plain.width);
    else
      divisor = before.general.registers[plain.reg];
    if (!can_divide(plain, before.general, divisor)) return false;
  }
  NativeFrame& frame = after.general;
  const uint8_t other = plain.stands_for_rsp;
  if (other != kNoRegister) frame.registers[other] = before.general.registers[plain_rsp];
  frame.flags &= kStatusFlags;
  native_.run(item.native, frame);
  frame.flags = (before.general.flags & ~kStatusFlags) | (frame.flags & kStatusFlags);
  if (other != kNoRegister) {
    frame.registers[plain_rsp] = frame.registers[other];
    frame.registers[other] = before.general.registers[other];
  }
  return !plain.writes || write(memory, address, native_.operand(), plain.width);
}

bool PlainCode::use_stack(const PlainInstruction& plain, const PlainState& before, PlainState& after,
                          BatchMemory& memory) {
  auto& registers = after.general.registers;
  uint64_t value = 0;
  if (plain.kind == Kind::push || plain.kind == Kind::push_flags) {
    if (plain.kind == Kind::push_flags)
      value = before.general.flags & ~kResume;
    else if (plain.has_immediate)
      value = uint64_t(plain.immediate);
    else if (!plain.has_memory)
      value = before.general.registers[plain.reg];
    else if (!memory.read(address_of(plain, before), &value, sizeof value))
      return false;
    registers[plain_rsp] -= sizeof value;
    return write(memory, registers[plain_rsp], &value, sizeof value);
  }
  const uint64_t from = before.general.registers[plain.kind == Kind::leave ? plain_rbp : plain_rsp];
  if (!memory.read(from, &value, sizeof value)) return false;
  registers[plain_rsp] = from + sizeof value;
  if (plain.kind == Kind::pop_flags) {
    // A trap is the thread's own, and ptrace(2) does not set all flags.
    if (((value ^ before.general.flags) & (kTrap | kIdentification)) || (before.general.flags & kPrivilege))
      return false;
    constexpr uint64_t kPopped = kStatusFlags | kDirection | kNested | kAligned;
    after.general.flags = (before.general.flags & ~kPopped) | (value & kPopped);
    return true;
  }
  registers[plain.kind == Kind::leave ? uint8_t(plain_rbp) : plain.reg] = value;  // perhaps the stack pointer
  return true;
}

// Once.
bool PlainCode::use_string(const PlainInstruction& plain, const PlainState& before, PlainState& after,
                           BatchMemory& memory) {
  auto& registers = after.general.registers;
  uint64_t& count = registers[plain_rcx];
  if (plain.is_repeated && count == 0) return true;
  uint64_t value = registers[plain_rax];
  const uint64_t to = registers[plain_rdi];
  const uint64_t step = before.general.flags & kDirection ? -uint64_t(plain.width) : plain.width;
  if (plain.kind == Kind::move) {
    if (!memory.read(registers[plain_rsi], &value, plain.width)) return false;
    registers[plain_rsi] += step;
  }
  registers[plain_rdi] += step;
  if (plain.is_repeated && --count != 0) after.at = before.at;
  return write(memory, to, &value, plain.width);
}

bool PlainCode::pass_control(const PlainInstruction& plain, const PlainState& before, PlainState& after,
                             BatchMemory& memory) {
  const uint64_t return_address = after.at;
  auto& registers = after.general.registers;
  switch (plain.kind) {
    case Kind::branch:
      if (is_met(plain.condition, before.general.flags)) after.at += uint64_t(plain.immediate);
      break;
    case Kind::jump:
    case Kind::call:
      after.at += uint64_t(plain.immediate);
      break;
    case Kind::comes_back:
      if (!memory.read(registers[plain_rsp], &after.at, sizeof after.at)) return false;
      registers[plain_rsp] += sizeof after.at + uint64_t(plain.immediate);
      break;
    default:  // through an operand
      if (!plain.has_memory)
        after.at = before.general.registers[plain.reg];
      else if (!memory.read(address_of(plain, before), &after.at, sizeof after.at))
        return false;
      break;
  }
  if (after.at >= kMaxAddress) return false;  // whether that fails here or there is the processor's choice
  if (plain.kind != Kind::call && plain.kind != Kind::call_to) return true;
  registers[plain_rsp] -= sizeof return_address;
  return write(memory, registers[plain_rsp], &return_address, sizeof return_address);
}

bool PlainCode::write(BatchMemory& memory, uint64_t address, const void* from, size_t size) {
  if (!memory.write(address, from, size)) return false;
  if (address < end_ && address + size > begin_) has_changed_ = true;
  return true;
}

}  // namespace prof::target
