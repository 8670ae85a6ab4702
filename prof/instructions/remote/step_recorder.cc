#include "step_recorder.h"

#include <charconv>

#include "prof/read/elf_file.h"
#include "prof/read/error.h"

namespace prof::remote {

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
