#include "disassembly.h"

#include <algorithm>

#include "executions.h"
#include "linker-rewrite/text/hexadecimal.h"
#include "prof/model/program/opened_objects.h"
#include "prof/read/instructions.h"

namespace prof {

namespace {

class Disassembler {
 public:
  Disassembler(const Recorded& recorded, const DebugSearch& search)
      : recorded_(recorded), objects_(recorded.functions, search), executions_(recorded.blocks) {}

  Disassembly disassemble(const std::vector<uint32_t>& functions) {
    Disassembly result;
    result.has_executions = executions_.are_known();
    for (const uint32_t f : functions) {
      const Function& function = recorded_.functions.functions()[f];
      DisassembledFunction& made = result.functions.emplace_back(DisassembledFunction{f, {}});
      made.made = objects_.at(function.object).code.time_made();
      for (const CodeRange& range : objects_.at(function.object).code.ranges_of(function.address))
        add(function, range, made);
    }
    objects_.each([&](uint32_t, const std::string& name, const OpenedObject& object) {
      if (const std::string problem = object.info.unreadable(); !problem.empty())
        result.remarks.push_back(name + ": " + problem);
      if (!object.code.is_there())
        result.remarks.push_back(
            name + ": its code is not there; name the program: prof --disassemble FUNCTION PROGRAM PROFILE");
      else if (!object.code.is_original())
        result.remarks.push_back(
            name +
            ": the file that was rewritten is not there; shown is its code in the copy, with jumps at the beginnings "
            "of functions");
    });
    return result;
  }

 private:
  // Instructions certainly begin where blocks do; in a copy, jumps of profld's may have cut off others before.
  void add(const Function& function, const CodeRange& range, DisassembledFunction& to) {
    std::vector<uint64_t> starts = {range.start};
    for (const BlockCount& block : executions_.within(function.object, range.start, range.start + range.size))
      if (block.address != range.start) starts.push_back(block.address);
    starts.push_back(range.start + range.size);
    for (size_t i = 0; i + 1 < starts.size(); ++i) add_run(function, starts[i], starts[i + 1], to);
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
};

}  // namespace

Disassembly disassemble(const Recorded& recorded, const std::vector<uint32_t>& functions, const DebugSearch& search) {
  return Disassembler(recorded, search).disassemble(functions);
}

}  // namespace prof
