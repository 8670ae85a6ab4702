#include "disassembly.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "executions.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/model/program/object_debug_info.h"
#include "prof/read/instructions.h"

namespace prof {

namespace {

class Disassembler {
 public:
  Disassembler(const Recorded& recorded, const DebugSearch& search)
      : recorded_(recorded),
        objects_(recorded.functions, search),
        executions_(recorded.blocks),
        times_(sampled_times_of(recorded)) {}

  Disassembly disassemble(const std::vector<uint32_t>& functions) {
    Disassembly result;
    result.has_executions = executions_.are_known();
    result.has_samples = !recorded_.histogram.empty();
    for (const uint32_t f : functions) {
      if (!recorded_.functions.functions()[f].is_inlined)
        result.functions.push_back(code_of(f, f));
      else
        for (const uint32_t host : hosts_of(f)) result.functions.push_back(code_of(f, host));
    }
    objects_.each([&](uint32_t, const std::string& name, const OpenedObject& object) {
      if (const std::string problem = object.info.unreadable(); !problem.empty())
        result.remarks.push_back(name + ": " + problem);
      if (!object.code.is_there())
        result.remarks.push_back(name + ": its code is not there; name the program: prof PROGRAM PROFILE");
      else if (!object.code.is_original())
        result.remarks.push_back(
            name +
            ": the file that was rewritten is not there; shown is its code in the copy, with jumps at the beginnings "
            "of functions");
    });
    return result;
  }

 private:
  DisassembledFunction code_of(uint32_t f, uint32_t host) {
    const Function& has_code = recorded_.functions.functions()[host];
    const OriginalCode& code = objects_.at(has_code.object).code;
    DisassembledFunction made = {f, host, {}, code.time_made()};
    for (const CodeRange& range : code.ranges_of(has_code.address)) add(has_code, range, made);
    if (host != f) std::erase_if(made.instructions, [&](const auto& i) { return !is_of(f, i.address); });
    return made;
  }

  // Whether an instruction is of an inlined function.
  bool is_of(uint32_t inlined, uint64_t address) {
    const Function& f = recorded_.functions.functions()[inlined];
    return std::ranges::any_of(objects_.at(f.object).info.inlined_at(address), [&](const InlinedFrame* frame) {
      return frame->raw_name == f.raw_name && frame->file == f.file && frame->line == f.line;
    });
  }

  // The functions in which samples found an inlined one, in order of their addresses.
  std::vector<uint32_t> hosts_of(uint32_t inlined) {
    const std::vector<Function>& functions = recorded_.functions.functions();
    const uint32_t object = functions[inlined].object;
    std::set<uint64_t> entries;
    for (const AddressSamples& at : recorded_.histogram)
      if (at.object == object && is_of(inlined, at.address))
        if (const auto entry = recorded_.functions.objects()[object].entry_of_original(at.address))
          entries.insert(*entry);
    std::map<uint64_t, uint32_t> hosts;
    for (uint32_t f = 0; f < functions.size(); ++f)
      if (functions[f].object == object && !functions[f].is_inlined && entries.contains(functions[f].address))
        hosts.emplace(functions[f].address, f);
    std::vector<uint32_t> found;
    for (const auto& [entry, f] : hosts) found.push_back(f);
    return found;
  }

  // Instructions certainly begin where blocks do; in a copy, jumps of profld's may have cut off others before.
  void add(const Function& function, const CodeRange& range, DisassembledFunction& to) {
    std::vector<uint64_t> starts = {range.start};
    for (const BlockCount& block : executions_.within(function.object, range.start, range.start + range.size))
      if (block.address != range.start) starts.push_back(block.address);
    starts.push_back(range.start + range.size);
    const size_t first = to.instructions.size();
    for (size_t i = 0; i + 1 < starts.size(); ++i) add_run(function, starts[i], starts[i + 1], to);
    add_samples(function.object, range, to, first);
  }

  void add_run(const Function& function, uint64_t start, uint64_t end, DisassembledFunction& to) {
    OpenedObject& object = objects_.at(function.object);
    const std::string code = object.code.bytes(start, end - start);
    const LineTable& table = object.info.lines_at(function.address);
    for (const Instruction& instruction : decode_instructions(code, start)) {
      DisassembledInstruction& made = to.instructions.emplace_back();
      made.address = instruction.address;
      made.executions = executions_.at(function.object, instruction.address);
      made.text = text_of(instruction, std::string_view(code).substr(instruction.address - start, instruction.length));
      if (instruction.target) made.text += named(function.object, *instruction.target);
      if (instruction.memory)
        made.text += "  # " + prof_text::hexadecimal(*instruction.memory) + named(function.object, *instruction.memory);
      if (const LineRange* line = table.find(instruction.address); line && line->line != 0) {
        made.file = table.files[line->file];
        made.line = line->line;
      }
    }
  }

  // To the instructions of a range, from the first of them on.
  void add_samples(uint32_t object, const CodeRange& range, DisassembledFunction& to, size_t first) {
    const std::vector<AddressSamples>& all = recorded_.histogram;
    auto at = std::ranges::lower_bound(all, std::pair(object, range.start), {},
                                       [](const AddressSamples& s) { return std::pair(s.object, s.address); });
    for (size_t i = first; at != all.end() && at->object == object && at->address < range.start + range.size; ++at) {
      while (i + 1 < to.instructions.size() && to.instructions[i + 1].address <= at->address) ++i;
      if (i < to.instructions.size()) to.instructions[i].self.add(times_, to.function, at->samples);
    }
  }

  // " <main+0x1c>"; "" if nothing is known of the address.
  std::string named(uint32_t o, uint64_t address) {
    const Object& object = recorded_.functions.objects()[o];
    if (const std::string import = objects_.at(o).code.import_at(address); !import.empty())
      return " <" + recorded_.functions.name_of(import, object) + ">";
    const Symbol* symbol = object.symbols().find(address);
    if (!symbol) {
      const std::optional<uint64_t> entry = object.entry_of_original(address);
      return entry && *entry != address
                 ? " <#" + prof_text::hexadecimal_digits(*entry) + "+" + prof_text::hexadecimal(address - *entry) + ">"
             : entry ? " <#" + prof_text::hexadecimal_digits(*entry) + ">"
                     : "";
    }
    const std::string offset =
        address == symbol->address ? "" : "+" + prof_text::hexadecimal(address - symbol->address);
    return " <" + recorded_.functions.name_of(symbol->name, object) + offset + ">";
  }

  const Recorded& recorded_;
  OpenedObjects objects_;
  Executions executions_;
  const SampledTimes times_;
};

}  // namespace

Disassembly disassemble(const Recorded& recorded, const std::vector<uint32_t>& functions, const DebugSearch& search) {
  return Disassembler(recorded, search).disassemble(functions);
}

}  // namespace prof
