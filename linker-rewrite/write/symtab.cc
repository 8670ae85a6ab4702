// The copy of a function gets a local symbol of the same name, so that gdb, perf and valgrind show it. Symbols of the
// original stay as they are: their addresses are the identity of functions, in both programs.
//
// Local symbols precede global ones in a symbol table, so the new ones are inserted where the global ones begin.

#include "symtab.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <unordered_map>

#include "libprof/format/map.h"

namespace profld {

namespace {

// A name for the function at an address. The best is a global one; between equals, the first.
struct Name {
  uint32_t offset;  // in the string table
  int rank;
};
using Names = std::unordered_map<OldAddr, Name>;

void consider(Names& names, OldAddr address, uint8_t type, uint8_t binding, uint32_t offset) {
  if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return;
  int rank = binding == STB_GLOBAL ? 3 : binding == STB_WEAK ? 2 : 1;
  if (type == STT_NOTYPE) rank -= 3;
  auto [it, is_new] = names.try_emplace(address, Name{offset, rank});
  if (!is_new && it->second.rank < rank) it->second = {offset, rank};
}

Elf64_Sym local_symbol(uint32_t name, unsigned char type, unsigned section, uint64_t value, uint64_t size) {
  Elf64_Sym s{};
  s.st_name = name;
  s.st_info = ELF64_ST_INFO(STB_LOCAL, type);
  s.st_shndx = uint16_t(section);
  s.st_value = value;
  s.st_size = size;
  return s;
}

class SymbolTable {
 public:
  SymbolTable(SectionTable& sections, const Image& image, uint64_t tls_room)
      : sections_(sections), image_(image), tls_room_(tls_room), original_(symbol_table(image)) {
    if (original_)
      read_original();
    else
      read_dynamic();
  }

  bool has_names() const { return original_ || !names_.empty(); }
  void add_copies(const CopyMap& copies);
  void add_thunks(FramelessCode thunks);
  void add_runtime(const std::vector<Runtime::Function>& functions);
  void write(Bytes& file);

 private:
  void read_original();
  void read_dynamic();
  void fix_relocations(Bytes& file) const;
  std::string text(uint32_t name) const;
  uint32_t add_string(const std::string& s) { return sections_.add_string(strings_, s); }

  SectionTable& sections_;
  const Image& image_;
  uint64_t tls_room_;
  const Section* original_;
  unsigned strings_ = 0;  // index of the string table
  ByteView old_strings_;
  std::vector<Elf64_Sym> old_;
  size_t locals_ = 0;  // number of local symbols in old_
  std::vector<Elf64_Sym> new_;
  Names names_;
};

void SymbolTable::read_original() {
  strings_ = original_->header.sh_link;
  const Elf64_Shdr& strings = image_.sections()[strings_].header;
  old_strings_ = image_.file().subspan(strings.sh_offset, strings.sh_size);
  old_.resize(original_->header.sh_size / sizeof(Elf64_Sym));
  if (!old_.empty())  // memcpy must not get a null pointer
    std::memcpy(old_.data(), image_.file().data() + original_->header.sh_offset, old_.size() * sizeof(Elf64_Sym));
  locals_ = std::min<size_t>(original_->header.sh_info, old_.size());
  for (Elf64_Sym& s : old_) {
    uint8_t type = ELF64_ST_TYPE(s.st_info);
    if (s.st_shndx == SHN_UNDEF) continue;
    if (s.st_name != 0 && s.st_name < old_strings_.size() && old_strings_[s.st_name] != 0)
      consider(names_, OldAddr(s.st_value), type, ELF64_ST_BIND(s.st_info), s.st_name);
    if (type == STT_TLS) {
      s.st_value += tls_room_;
    } else if (s.st_shndx < image_.sections().size()) {
      // Symbols that stand for a whole section (_DYNAMIC, symbols of type SECTION) move with it.
      if (s.st_value == image_.sections()[s.st_shndx].header.sh_addr)
        s.st_value = sections_.header(s.st_shndx).sh_addr;
      else if (auto old_place = sections_.old_place(s.st_shndx))
        s.st_shndx = uint16_t(*old_place);
    }
  }
}

void SymbolTable::read_dynamic() {
  old_.emplace_back();
  locals_ = 1;
  for (const Symbol& s : image_.dynamic_symbols()) {
    if (s.section == SHN_UNDEF || s.name.empty() || (s.type != STT_FUNC && s.type != STT_GNU_IFUNC)) continue;
    if (strings_ == 0) {
      Elf64_Shdr h{};
      h.sh_type = SHT_STRTAB;
      h.sh_addralign = 1;
      strings_ = sections_.add(".strtab", h, Bytes(1));
    }
    consider(names_, s.address, s.type, s.binding, add_string(s.name));
  }
}

std::string SymbolTable::text(uint32_t name) const {
  if (!original_ || name >= old_strings_.size()) return {};
  const char* p = reinterpret_cast<const char*>(old_strings_.data()) + name;
  return std::string(p, strnlen(p, old_strings_.size() - name));
}

void SymbolTable::add_copies(const CopyMap& copies) {
  if (copies.copies().empty()) return;
  new_.push_back(local_symbol(add_string("profld"), STT_FILE, SHN_ABS, 0, 0));
  for (const RangeCopy& c : copies.copies()) {
    uint32_t name = 0;
    if (auto it = names_.find(c.original.start); it != names_.end()) {
      name = it->second.offset;
    } else if (auto function = names_.find(c.function); function != names_.end()) {
      std::string s = text(function->second.offset);
      if (!s.empty()) name = add_string(s + ".cold");
    }
    if (name == 0) continue;
    new_.push_back(local_symbol(name, STT_FUNC, sections_.index_at(c.start), c.start.value, c.size));
  }
}

void SymbolTable::add_thunks(FramelessCode thunks) {
  if (thunks.size == 0) return;
  new_.push_back(local_symbol(add_string("_profimports"), STT_FUNC, sections_.index_at(thunks.start),
                              thunks.start.value, thunks.size));
}

void SymbolTable::add_runtime(const std::vector<Runtime::Function>& functions) {
  for (const Runtime::Function& f : functions)
    new_.push_back(local_symbol(add_string(f.name), STT_FUNC, sections_.index_at(f.address), f.address.value, f.size));
}

void SymbolTable::fix_relocations(Bytes& file) const {
  for (const Section& s : image_.sections()) {
    if (s.header.sh_type != SHT_RELA || (s.header.sh_flags & SHF_ALLOC) || s.header.sh_link != original_->index)
      continue;
    for (uint64_t i = 0; i + sizeof(Elf64_Rela) <= s.header.sh_size; i += sizeof(Elf64_Rela)) {
      uint64_t at = s.header.sh_offset + i + offsetof(Elf64_Rela, r_info);
      uint64_t info = Reader(ByteView(file).subspan(std::min<uint64_t>(at, file.size())), "relocations").u64();
      if (ELF64_R_SYM(info) >= locals_)
        put(file, at, ELF64_R_INFO(ELF64_R_SYM(info) + new_.size(), ELF64_R_TYPE(info)));
    }
  }
}

void SymbolTable::write(Bytes& file) {
  Bytes table;
  auto append_all = [&](auto first, auto last) {
    for (; first != last; ++first) append(table, *first);
  };
  append_all(old_.begin(), old_.begin() + long(locals_));
  append_all(new_.begin(), new_.end());
  append_all(old_.begin() + long(locals_), old_.end());
  uint32_t locals = uint32_t(locals_ + new_.size());
  if (original_) {
    sections_.replace(original_->index, std::move(table)).sh_info = locals;
    fix_relocations(file);
  } else {
    Elf64_Shdr h{};
    h.sh_type = SHT_SYMTAB;
    h.sh_link = strings_;
    h.sh_info = locals;
    h.sh_addralign = 8;
    h.sh_entsize = sizeof(Elf64_Sym);
    sections_.add(".symtab", h, std::move(table));
  }
}

// The beginning of a section that lists so many entries: its header.
template <class Header, class Entry>
Bytes list_header(const char (&magic)[sizeof Header::magic], uint64_t entries) {
  Header header{};
  std::memcpy(header.magic, magic, sizeof header.magic);
  header.entry_size = sizeof(Entry);
  header.entries = entries;
  Bytes out;
  append(out, header);
  return out;
}

}  // namespace

Bytes encode_map(const CopyMap& copies, const std::vector<ImportCopy>& imports) {
  std::vector<prof_format::MapEntry> entries;
  for (const RangeCopy& c : copies.copies())
    entries.push_back(
        {c.start.value, c.original.start.value, c.function.value, uint32_t(c.size), uint32_t(c.original.size())});
  for (const ImportCopy& c : imports)
    entries.push_back({c.start.value, c.original.value, c.original.value, uint32_t(c.size), uint32_t(c.original_size)});
  std::ranges::sort(entries, {}, &prof_format::MapEntry::copy);
  Bytes out = list_header<prof_format::MapHeader, prof_format::MapEntry>(prof_format::kMapMagic, entries.size());
  for (const prof_format::MapEntry& e : entries) append(out, e);
  return out;
}

Bytes encode_steps(const CopyMap& copies, const std::vector<ImportCopy>& imports) {
  // In the order of the map. What stands for imports has no instructions of the original.
  std::vector<std::pair<NewAddr, const RangeCopy*>> entries;
  for (const RangeCopy& c : copies.copies()) entries.emplace_back(c.start, &c);
  for (const ImportCopy& c : imports) entries.emplace_back(c.start, nullptr);
  std::ranges::sort(entries, {}, [](const auto& e) { return e.first; });
  prof_format::StepsHeader header{};
  std::memcpy(header.magic, prof_format::kStepsMagic, sizeof header.magic);
  header.entries = entries.size();
  Bytes out;
  append(out, header);
  for (const auto& [start, copy] : entries) {
    append_uleb(out, copy ? copy->steps.size() - 1 : 0);
    for (size_t i = 1; copy && i < copy->steps.size(); ++i) {
      append_uleb(out, copy->steps[i].from - copy->steps[i - 1].from);
      append_uleb(out, copy->steps[i].delta - copy->steps[i - 1].delta);
    }
  }
  return out;
}

Bytes encode_loops(const CopyMap& copies) {
  std::vector<prof_format::LoopEntry> entries;
  for (const RangeCopy& c : copies.copies())
    for (const RangeCopy::Loop& loop : c.loops)
      entries.push_back({(c.start + loop.offset).value, loop.size, loop.times});
  std::ranges::sort(entries, {}, &prof_format::LoopEntry::copy);
  Bytes out = list_header<prof_format::LoopsHeader, prof_format::LoopEntry>(prof_format::kLoopsMagic, entries.size());
  for (const prof_format::LoopEntry& entry : entries) append(out, entry);
  return out;
}

Bytes encode_imports(const std::vector<ImportCopy>& imports) {
  std::map<uint64_t, const std::string*> names;  // by address: an import may have two pieces of code
  for (const ImportCopy& c : imports) names.emplace(c.original.value, &c.name);
  Bytes out =
      list_header<prof_format::ImportsHeader, prof_format::ImportEntry>(prof_format::kImportsMagic, names.size());
  uint32_t at = 0;
  for (const auto& [address, name] : names) {
    append(out, prof_format::ImportEntry{address, at, uint32_t(name->size())});
    at += uint32_t(name->size());
  }
  for (const auto& [address, name] : names) out.insert(out.end(), name->begin(), name->end());
  return out;
}

void write_symbols(SectionTable& sections, Bytes& file, const Image& image, const CopyMap& copies, FramelessCode thunks,
                   const std::vector<Runtime::Function>& runtime, uint64_t tls_room) {
  SymbolTable table(sections, image, tls_room);
  if (!table.has_names()) return;
  table.add_copies(copies);
  table.add_thunks(thunks);
  table.add_runtime(runtime);
  table.write(file);
}

}  // namespace profld
