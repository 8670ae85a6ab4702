#include "imports.h"

#include "linker-rewrite/x86/encoding.h"

namespace profld {

std::optional<OldAddr> got_entry_of_stub(const Image& image, OldAddr stub) {
  const std::optional<int64_t> distance = distance_to_got_entry(image.bytes_from(stub));
  return distance ? std::optional(stub + uint64_t(*distance)) : std::nullopt;
}

const Symbol* symbol_of_got_entry(const Image& image, OldAddr got_entry) {
  const Relocation* r = image.relocation_at(got_entry);
  return r && r->symbol < image.dynamic_symbols().size() ? &image.dynamic_symbols()[r->symbol] : nullptr;
}

ImportTable::ImportTable(const Image& image) : image_(image) {
  if (image.is_static()) return;
  const std::vector<Symbol>& symbols = image.dynamic_symbols();
  for (const Relocation& r : image.relocations()) {
    if (r.packed || (r.type != R_X86_64_JUMP_SLOT && r.type != R_X86_64_GLOB_DAT)) continue;
    if (r.symbol == 0 || r.symbol >= symbols.size()) continue;
    const Symbol& s = symbols[r.symbol];
    if (s.section == SHN_UNDEF && !s.name.empty()) of_word_.emplace(r.where, r.symbol);
  }
}

std::optional<uint32_t> ImportTable::symbol_called(const Code& code, const Insn& insn) const {
  std::optional<OldAddr> word;
  if (insn.flow == Flow::call_indirect || insn.flow == Flow::jump_indirect) {
    if (insn.rip_relative) word = code.target(insn);
  } else if (insn.flow != Flow::next && insn.flow != Flow::ret && insn.flow != Flow::stop) {
    word = got_entry_of_stub(image_, code.target(insn));
  }
  const auto symbol = word ? of_word_.find(*word) : of_word_.end();
  return symbol != of_word_.end() ? std::optional(symbol->second) : std::nullopt;
}

}  // namespace profld
