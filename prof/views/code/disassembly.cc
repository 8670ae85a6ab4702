#include <algorithm>

#include "code_views.h"
#include "libprof/printable.h"
#include "linker-rewrite/text/count.h"
#include "linker-rewrite/text/hexadecimal.h"
#include "prof/read/file.h"
#include "prof/views/text/listing.h"

namespace prof {

namespace {

// "collatz.c:12: while (n != 1) {"
std::string source_line(const DisassembledInstruction& instruction, SourceText& sources) {
  std::string text = prof_text::printable(base_name(instruction.file)) + ":" + std::to_string(instruction.line);
  const std::vector<std::string>* lines = sources.lines(instruction.file);
  return lines && instruction.line <= lines->size() ? text + ": " + printable_source((*lines)[instruction.line - 1])
                                                    : text;
}

std::string heading(const Analysis& analysis, const DisassembledFunction& function) {
  const Function& f = analysis.functions.functions()[function.function];
  std::string text = prof_text::printable(analysis.functions.name_with_module(f)) + ", " +
                     prof_text::count_of(function.instructions.size(), "instruction");
  if (analysis.sums[function.function].calls != 0)
    text += ", " + prof_text::count_of(analysis.sums[function.function].calls, "call");
  return text + "\n";
}

}  // namespace

void print_disassembly(const Analysis& analysis, const Disassembly& disassembly, SourceText& sources,
                       std::optional<size_t> terminal, Output& out) {
  std::vector<std::string> titles = {"Address", "Distance"};
  if (disassembly.has_executions) titles.insert(titles.begin(), "Executions");
  bool is_first = true;
  for (const DisassembledFunction& function : disassembly.functions) {
    const uint64_t entry = analysis.functions.functions()[function.function].address;
    std::vector<ListingLine> lines;
    const DisassembledInstruction* before = nullptr;
    for (const DisassembledInstruction& instruction : function.instructions) {
      if (instruction.line != 0 && (!before || before->line != instruction.line || before->file != instruction.file))
        lines.push_back({std::vector<std::string>(titles.size()), source_line(instruction, sources)});
      before = &instruction;
      ListingLine& line = lines.emplace_back();
      if (disassembly.has_executions)
        line.cells.push_back(instruction.executions ? std::to_string(*instruction.executions) : "-");
      line.cells.push_back(prof_text::hexadecimal_digits(instruction.address));
      line.cells.push_back(distance(instruction.address, entry));
      line.text = "    " + prof_text::printable(instruction.text);
    }
    out.text((is_first ? "" : "\n") + heading(analysis, function));
    print_listing(titles, lines, terminal, out);
    is_first = false;
  }
}

}  // namespace prof
