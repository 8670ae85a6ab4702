#include "line_symbols.h"

#include <gelf.h>

#include <cstring>

#include "symbols.h"

namespace prof::gprof {

TextBounds text_bounds(const ElfFile& file) {
  size_t names = 0;
  if (elf_getshdrstrndx(file.elf(), &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.elf(), section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_size == 0) continue;
    const char* name = elf_strptr(file.elf(), names, header.sh_name);
    if (name && std::strcmp(name, ".text") == 0) return {header.sh_addr, header.sh_addr + header.sh_size - 1};
  }
  return {};
}

void add_first_lines(std::vector<Function>& functions, const SourceLines& lines) {
  for (Function& function : functions) {
    const SourceRange* range = lines.find(function.address);
    if (!range) continue;
    function.file = lines.files()[range->file];
    function.line = range->line;
  }
}

std::vector<Function> line_symbols(const std::vector<Function>& functions, const SourceLines& lines, TextBounds text) {
  const auto count = uint32_t(functions.size());
  std::vector<Function> symbols;
  for (const Function& function : functions) {
    if (function.end < function.address)
      continue;  // gprof has such a one at the end (symbols.h), and leaves it out here
    symbols.push_back(function);
    symbols.back().end = 0;  // it ends where the next one begins, which may be a line now
  }
  const size_t first_line = symbols.size();
  for (const SourceRange& range : lines.ranges()) {
    if (range.start < text.first || range.start > text.last) continue;
    const uint32_t around = function_at(functions, count, range.start);
    Function symbol;
    symbol.address = range.start;
    symbol.name = lines.functions()[range.function];
    if (symbol.name.empty() && around != kNone) symbol.name = functions[around].name;  // in the padding after it
    if (symbol.name.empty()) continue;
    symbol.file = lines.files()[range.file];
    symbol.line = range.line;
    symbol.is_static = around != kNone && functions[around].is_static;
    symbol.is_function = false;
    const bool has_last = symbols.size() > first_line;
    if (has_last && symbol.line == symbols.back().line && symbol.name == symbols.back().name &&
        symbol.file == symbols.back().file)
      continue;
    symbols.push_back(std::move(symbol));
  }
  settle_symbols(symbols, text.last);
  return symbols;
}

}  // namespace prof::gprof
