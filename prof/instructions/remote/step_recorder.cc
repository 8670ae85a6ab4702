#include "step_recorder.h"

#include <charconv>
#include <cstring>

#include "prof/read/elf_file.h"
#include "prof/read/error.h"

namespace prof::remote {

namespace {

constexpr int8_t kNone = MemoryOperand::kNone;

// By the number of a register in instructions.
constexpr RegisterNumber kNumbers[] = {reg_rax, reg_rcx, reg_rdx, reg_rbx, reg_rsp, reg_rbp, reg_rsi, reg_rdi};

// 0 if it is kNone.
uint64_t value_of(const Registers& registers, int8_t reg) {
  if (reg == kNone) return 0;
  return registers[reg < reg_r8 ? size_t(kNumbers[size_t(reg)]) : size_t(reg)];
}

bool chooses(const MemoryOperand& operand, const VectorRegisters& vectors, unsigned element) {
  if (operand.mask == MemoryOperand::Mask::none) return true;
  if (operand.mask == MemoryOperand::Mask::register_) return vectors.masks[operand.mask_number & 7] >> element & 1;
  const size_t highest = size_t(element + 1) * operand.element - 1;
  const auto& vector = vectors.vectors[operand.mask_number & 31];
  return highest < vector.size() && (vector[highest] & 0x80);
}

int64_t index_of(const MemoryOperand& operand, const VectorRegisters& vectors, unsigned element) {
  const auto& vector = vectors.vectors[uint8_t(operand.index) & 31];
  const size_t at = size_t(element) * operand.index_element;
  if (at + operand.index_element > vector.size()) return 0;
  if (operand.index_element == 8) {
    int64_t value = 0;
    std::memcpy(&value, &vector[at], sizeof value);
    return value;
  }
  int32_t value = 0;
  std::memcpy(&value, &vector[at], sizeof value);
  return value;
}

uint64_t address_of(const MemoryOperand& operand, const Registers& registers, int64_t index) {
  uint64_t address = uint64_t(operand.displacement);
  if (operand.is_relative) address += registers[reg_rip];
  address += value_of(registers, operand.base);
  address += uint64_t(index) * operand.scale;
  if (operand.is_short) address = uint32_t(address);
  if (operand.segment == MemoryOperand::Segment::fs) address += registers[reg_fs_base];
  if (operand.segment == MemoryOperand::Segment::gs) address += registers[reg_gs_base];
  return address;
}

void add(uint64_t address, uint32_t size, const MemoryOperand& operand, std::vector<TraceAccess>& to) {
  TraceAccess& access = to.emplace_back();
  access.address = address;
  access.size = size;
  access.is_write = operand.is_write;
}

// Chosen elements that stand side by side are one access.
void add_chosen(const MemoryOperand& operand, const Registers& registers, const VectorRegisters& vectors,
                std::vector<TraceAccess>& to) {
  unsigned chosen = 0;
  for (unsigned i = 0; i < operand.elements; ++i) {
    if (!chooses(operand, vectors, i)) continue;
    ++chosen;
    if (operand.is_packed || operand.is_one) continue;
    if (operand.is_vector_index) {
      add(address_of(operand, registers, index_of(operand, vectors, i)), operand.element, operand, to);
      continue;
    }
    const bool goes_on = i > 0 && chooses(operand, vectors, i - 1);
    const int64_t index = int64_t(value_of(registers, operand.index));
    if (goes_on)
      to.back().size += operand.element;
    else
      add(address_of(operand, registers, index) + uint64_t(i) * operand.element, operand.element, operand, to);
  }
  if (chosen == 0 || (!operand.is_packed && !operand.is_one)) return;
  const int64_t index = int64_t(value_of(registers, operand.index));
  add(address_of(operand, registers, index), operand.is_one ? operand.size : chosen * operand.element, operand, to);
}

}  // namespace

void memory_accesses(const DecodedInstruction& instruction, const Registers& registers, const VectorRegisters* vectors,
                     std::vector<TraceAccess>& to) {
  static const VectorRegisters kNoVectors;
  if (instruction.is_repeated && !instruction.operands.empty()) {
    const uint64_t count = registers[reg_rcx];  // of an instruction with short addresses it is ecx
    if ((instruction.operands[0].is_short ? uint32_t(count) : count) == 0) return;
  }
  for (const MemoryOperand& operand : instruction.operands) {
    if (operand.is_vector_index || operand.mask != MemoryOperand::Mask::none) {
      add_chosen(operand, registers, vectors ? *vectors : kNoVectors, to);
      continue;
    }
    int64_t index = int64_t(value_of(registers, operand.index));
    if (operand.is_byte_index) index &= 0xff;
    uint64_t address = address_of(operand, registers, index);
    if (operand.bit_register != kNone) {
      const uint64_t value = value_of(registers, operand.bit_register);
      const int64_t bit = operand.size == 8 ? int64_t(value) : operand.size == 4 ? int32_t(value) : int16_t(value);
      address += uint64_t((bit >> (operand.size == 8 ? 6 : operand.size == 4 ? 5 : 4)) * int64_t(operand.size));
    }
    add(address, operand.size, operand, to);
    if (!instruction.is_repeated) continue;
    to.back().is_repeated = true;
    to.back().is_down = (registers[reg_flags] & kDirectionFlag) != 0;
  }
}

namespace {

// A line of /proc/PID/maps: START-END PERMISSIONS OFFSET DEVICE INODE PATH. Nothing if no file is mapped there.
std::optional<TracedModule> module_of(std::string_view line) {
  TracedModule module;
  const auto number = [&line](uint64_t& to, char end) {
    const auto [last, error] = std::from_chars(line.data(), line.data() + line.size(), to, 16);
    if (error != std::errc() || last == line.data() + line.size() || *last != end) return false;
    line.remove_prefix(size_t(last - line.data()) + 1);
    return true;
  };
  if (!number(module.start, '-') || !number(module.end, ' ') || line.size() < 5) return std::nullopt;
  line.remove_prefix(5);
  if (!number(module.offset, ' ') || module.end <= module.start) return std::nullopt;
  const size_t path = line.find('/');
  if (path == std::string_view::npos) return std::nullopt;
  module.path = line.substr(path);
  return module;
}

}  // namespace

void StepRecorder::definition(uint32_t process, uint64_t address, std::string_view code) {
  Code& made = code_[process][address];
  made.bytes = code;
  made.instruction = decode_memory(code);
  if (made.instruction.length != 0) made.bytes.resize(made.instruction.length);
}

const StepRecorder::Code* StepRecorder::code_at(uint32_t process, uint64_t address) const {
  const auto of_process = code_.find(process);
  if (of_process == code_.end()) return nullptr;
  const auto found = of_process->second.find(address);
  return found == of_process->second.end() ? nullptr : &found->second;
}

const DecodedInstruction* StepRecorder::instruction(uint32_t process, uint64_t address) const {
  const Code* const code = code_at(process, address);
  return code ? &code->instruction : nullptr;
}

void StepRecorder::add_step(TracedThread thread, const Code& code, const Registers& before,
                            const VectorRegisters* vectors) {
  accesses_.clear();
  memory_accesses(code.instruction, before, vectors, accesses_);
  trace_.step(thread, before[reg_rip], code.bytes, accesses_);
}

void StepRecorder::step(TracedThread thread, const Registers& before, const VectorRegisters* vectors) {
  // A step over an instruction that holds off the trap made the next one, too, which nobody told of.
  if (const auto held = held_off_.find(thread); held != held_off_.end()) {
    Registers between = held->second;
    held_off_.erase(held);
    if (between[reg_rip] != before[reg_rip]) {
      const Code* const skipped = code_at(thread.process, between[reg_rip]);
      if (skipped && skipped->instruction.length != 0)
        add_step(thread, *skipped, between, nullptr);
      else
        event(thread, prof_format::kEventLost, {1});
    }
  }
  const Code* const code = code_at(thread.process, before[reg_rip]);
  if (!code || code->instruction.length == 0) {
    event(thread, prof_format::kEventLost, {1});
    return;
  }
  add_step(thread, *code, before, vectors);
  if (code->instruction.holds_off_trap) {
    Registers next = before;
    next[reg_rip] += code->instruction.length;
    held_off_[thread] = next;
  }
}

void StepRecorder::block(TracedThread thread, uint64_t address, uint64_t instructions) {
  for (uint64_t i = 0; i < instructions; ++i) {
    const Code* const code = code_at(thread.process, address);
    if (!code || code->instruction.length == 0) {
      event(thread, prof_format::kEventLost, {instructions - i});
      return;
    }
    trace_.step(thread, address, code->bytes, {});
    address += code->instruction.length;
  }
}

void StepRecorder::event(TracedThread thread, prof_format::TraceEventKind kind, const std::vector<uint64_t>& values) {
  if (kind == prof_format::kEventExec) modules_.erase(thread.process);  // readers of the trace forget them, too
  trace_.event(thread, kind, values);
}

const std::string& StepRecorder::build_id_of(const std::string& path) {
  const auto [found, is_new] = build_ids_.try_emplace(path);
  if (is_new && has_files_) {
    try {
      found->second = ElfFile(path).build_id();
    } catch (const Error&) {  // no program, or not to be read: it has none
    }
  }
  return found->second;
}

void StepRecorder::maps(uint32_t process, std::string_view text) {
  std::map<uint64_t, TracedModule>& known = modules_[process];
  std::map<uint64_t, TracedModule> now;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::optional<TracedModule> module = module_of(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!module) continue;
    const auto before = known.find(module->start);
    const bool is_known = before != known.end() && before->second.end == module->end &&
                          before->second.offset == module->offset && before->second.path == module->path;
    if (!is_known) {
      module->build_id = build_id_of(module->path);
      trace_.module(process, *module);
    }
    now.emplace(module->start, std::move(*module));
  }
  known = std::move(now);
}

}  // namespace prof::remote
