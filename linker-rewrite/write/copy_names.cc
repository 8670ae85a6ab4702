// A logger that says who called it asks dladdr for the function that its return address lies in, which is a copy now. So
// the copies of functions that dynamic symbols name have dynamic symbols, too: of the same names, with the addresses and
// sizes of the copies. But whoever looks for a name (the dynamic linker, dlsym, a linker that links with a copied
// library) has to find the original, whose address is the function's identity. What makes the difference:
//
// - dladdr of glibc goes through all chains of DT_GNU_HASH and compares nothing but addresses; where there is only
//   DT_HASH, through the whole table of symbols, as musl always does, up to the last symbol that a chain leads to.
// - A search for a name begins at one bucket. In DT_HASH it follows the chain, which the new symbols are not in. In
//   DT_GNU_HASH it compares the hash of the name with the one in the chain before it looks at the symbol. All chains are
//   one array beside the table of symbols, so the new symbols go on with the chain that is the last; each with a hash
//   that is not its name's, so that what has the hash has not the name.
//
// In DT_VERSYM the new symbols are hidden ones of their original's version: for readers of files, who know names and
// versions only, these are the second choice.
//
// Several symbols of one address all have a copy, in the same order, so everybody's first choice stays the first. Where a
// symbol covers code that unwind tables divide, each part has its own. Parts that the compiler split off (foo.cold)
// have no dynamic symbols in the original either, and get none: dladdr finds no name, as it did.
//
// dli_saddr, where the named function begins, is the copy's address for a return address, and the original's for a
// pointer to the function. It cannot be the same: the symbol with the highest address at or below the one that is
// asked for wins, and between the two lie all other functions.

#include "copy_names.h"

#include <algorithm>
#include <cstring>

namespace profld {

namespace {

uint32_t gnu_hash(const std::string& name) {
  uint32_t h = 5381;
  for (char c : name) h = h * 33 + uint8_t(c);
  return h;
}

bool names_code(const Symbol& s) {
  const bool has_address = s.section != SHN_UNDEF && s.section != SHN_ABS && s.section != SHN_COMMON;
  const bool has_type = s.type == STT_FUNC || s.type == STT_GNU_IFUNC || s.type == STT_NOTYPE || s.type == STT_OBJECT;
  return has_address && has_type && (s.binding == STB_GLOBAL || s.binding == STB_WEAK) && !s.name.empty();
}

}  // namespace

std::vector<NamedPart> named_parts(const Program& program) {
  const std::vector<Symbol>& symbols = program.image->dynamic_symbols();
  std::vector<uint32_t> by_address;
  for (uint32_t i = 1; i < symbols.size(); ++i)
    if (names_code(symbols[i])) by_address.push_back(i);
  std::ranges::stable_sort(by_address, {}, [&](uint32_t i) { return symbols[i].address; });

  std::vector<NamedPart> parts;
  size_t next = 0;                // in by_address
  const Symbol* sized = nullptr;  // the last before it that has a size; of several with one address, the first
  uint32_t sized_index = 0;
  for (const CodeRange& r : program.ranges) {
    const auto add = [&](uint32_t symbol, OldAddr start) {
      if (!program.groups[r.group].moves()) return;
      const uint64_t past_start = symbols[symbol].size - (start - symbols[symbol].address);
      parts.push_back({symbol, {start, start + std::min<uint64_t>(past_start, r.range.end - start)}});
    };
    const auto pass = [&](OldAddr end, bool inside) {
      for (; next < by_address.size() && symbols[by_address[next]].address < end; ++next) {
        const Symbol& s = symbols[by_address[next]];
        if (inside) add(by_address[next], s.address);
        if (s.size == 0 || (sized && sized->address == s.address)) continue;
        sized = &s;
        sized_index = by_address[next];
      }
    };
    pass(r.range.start, false);
    if (sized && r.range.start - sized->address < sized->size) add(sized_index, r.range.start);
    pass(r.range.end, true);
  }
  std::ranges::stable_sort(parts, {}, &NamedPart::symbol);
  return parts;
}

Elf64_Sym symbol_of_copy(Elf64_Sym original, const NamedPart& part, const CopyMap& copies) {
  const RangeCopy& copy = *copies.find(part.part.start);
  const NewAddr start = copy.address(part.part.start);
  const bool is_rest = part.part.size() != 0 && part.part.end == copy.original.end;
  const NewAddr end = is_rest ? copy.start + copy.size : copy.address(part.part.end);
  original.st_value = start.value;
  original.st_size = end - start;
  if (ELF64_ST_TYPE(original.st_info) == STT_GNU_IFUNC)
    original.st_info = uint8_t(ELF64_ST_INFO(ELF64_ST_BIND(original.st_info), STT_FUNC));
  return original;
}

GnuHashTable GnuHashTable::read(ByteView table) {
  Reader r(table, "symbol hash table");
  GnuHashTable t;
  t.buckets = r.u32();
  t.first = r.u32();
  t.bloom_words = r.u32();
  r.skip(4 + uint64_t(t.bloom_words) * 8);
  uint32_t last = 0;
  for (uint32_t i = 0; i < t.buckets; ++i) last = std::max(last, r.u32());
  t.end = t.first;
  if (last < t.first) return t;
  r.skip(uint64_t(last - t.first) * 4);
  while (!(r.u32() & 1)) ++last;
  t.end = last + 1;
  return t;
}

void append_unfindable(Bytes& bytes, const GnuHashTable& table, const std::vector<std::string>& names) {
  constexpr uint8_t kEndOfChain = 1;
  bytes[table.size() - 4] &= uint8_t(~kEndOfChain);
  for (const std::string& name : names) append(bytes, ~gnu_hash(name) & ~uint32_t(kEndOfChain));
  bytes[bytes.size() - 4] |= kEndOfChain;
}

}  // namespace profld
