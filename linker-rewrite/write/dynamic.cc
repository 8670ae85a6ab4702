// How a dynamic program or a shared library calls the hooks in libprof.so: as if it had been linked with it.
//
// It needs the library (DT_NEEDED), four undefined symbols, and four pointers ("hook slots") that the dynamic linker
// fills with their addresses (R_X86_64_GLOB_DAT). In a program libprof.so later replaces the first two, those of the
// hooks that each call comes to, by the addresses of the hooks that it selects; an entry of the dynamic section tells
// it where the slots are. Those of a library stay as they are: it may be unloaded at any time. A library has a fifth
// symbol and slot, for its DT_INIT (library_start.h). Symbols, strings, symbol versions and relocations are arrays
// without room at their end, so each is copied into a new segment with the new entries; the dynamic section, which says
// where they are, is changed in place: GNU ld leaves five spare DT_NULLs at its end. lld leaves none; then the section
// moves as well. The dynamic linker finds it by PT_DYNAMIC. The old one's bytes stay as they were, for code that refers
// to `_DYNAMIC` directly; the only thing missing there is DT_DEBUG's value.
//
// The order of things matters in three places.
//
// - libprof.so is needed right before the C library. Libraries that do not depend on each other are initialized from
//   the last to the first, so it is ready before the libraries run that depend on the C library. In the search for
//   symbols it comes after them, so it can replace functions of the C library only, which it does for a few (sandbox.cc
//   in libprof). Libraries that must be first (AddressSanitizer) still are.
// - The hook slots are filled first after the RELATIVE block (DT_RELACOUNT says where that ends): the remaining
//   relocations may call functions of the program to learn an address (IRELATIVE, symbols of type IFUNC), which call
//   the hooks. The program itself is relocated after all its libraries, so libprof.so is fit to be called by then. The
//   symbols of libraries are others than those of programs: at that time they lead to hooks that do nothing.
// - The hash table DT_GNU_HASH names defined symbols only, and stays unless copies have symbols (named_parts), which
//   come last. DT_HASH has a chain entry for every symbol, and readers take the number of symbols from it, so it grows.

#include "dynamic.h"

#include <algorithm>
#include <cstring>

#include "libprof/format/map.h"
#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/program/replaced.h"

namespace profld {

namespace {

// libprof/hooks/assembler.h says why these have names of their own.
constexpr const char* kOfProgram[] = {"_profin.libprof", "_profout.libprof", "_proftail.libprof", "_profjump.libprof"};
constexpr const char* kTraceFunction = "_proftracefull.libprof";
constexpr const char* kOfLibrary[] = {"_proflibin.libprof", "_proflibout.libprof", "_proflibtail.libprof",
                                      "_proflibjump.libprof", "_profload.libprof"};
// How the names of C libraries begin: libc.so.6, libc.musl-x86_64.so.1.
constexpr std::string_view kCLibrary = "libc.";
constexpr Elf64_Versym kHiddenVersion = 0x8000;

// The hash of the System V ABI, for DT_HASH.
uint32_t sysv_hash(const char* name) {
  uint32_t h = 0;
  for (; *name; ++name) {
    h = (h << 4) + uint8_t(*name);
    uint32_t g = h & 0xf0000000;
    h = (h ^ (g >> 24)) & ~g;
  }
  return h;
}

// Only the section headers, if there are any, say how many dynamic symbols there are. Without them it is enough to know
// all symbols that the file refers to.
uint32_t count_symbols(const Image& image, OldAddr table, const std::optional<GnuHashTable>& gnu_hash) {
  if (const Section* s = section_at(image, table.value, SHT_DYNSYM))
    return uint32_t(std::min<uint64_t>(s->header.sh_size / sizeof(Elf64_Sym), UINT32_MAX / 2));
  uint32_t count = std::max(1u, gnu_hash ? gnu_hash->end : 0);
  for (const Relocation& r : image.relocations())
    if (!r.packed) count = std::max(count, r.symbol + 1);
  if (auto hash = image.dynamic_value(DT_HASH)) {
    Reader r(image.bytes_from(OldAddr(*hash)), "symbol hash table");
    r.skip(4);
    count = std::max(count, r.u32());
  }
  return count;
}

Elf64_Sym undefined_function(uint64_t name) {
  Elf64_Sym s{};
  s.st_name = uint32_t(name);
  s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  return s;
}

}  // namespace

DynamicSection::DynamicSection(const Image& image) : entries_(image.dynamic()) {
  const Elf64_Phdr* h = image.segment(PT_DYNAMIC);
  const auto offset = h ? image.file_offset(OldAddr(h->p_vaddr)) : std::nullopt;
  if (!h || !offset) throw Error("damaged program headers: the dynamic section is in no segment; use an intact file");
  address_ = OldAddr(h->p_vaddr);
  offset_ = *offset;
  room_ = std::min<uint64_t>(h->p_filesz, image.bytes_from(address_).size());
}

void DynamicSection::set(int64_t tag, uint64_t value) {
  auto it = std::ranges::find_if(entries_, [&](const Elf64_Dyn& d) { return d.d_tag == tag; });
  if (it == entries_.end()) return add(tag, value);
  it->d_un.d_val = value;
}

void DynamicSection::insert(size_t index, int64_t tag) {
  Elf64_Dyn d{};
  d.d_tag = tag;
  entries_.insert(entries_.begin() + long(index), d);
}

void DynamicSection::add(int64_t tag, uint64_t value) {
  Elf64_Dyn d;
  d.d_tag = tag;
  d.d_un.d_val = value;
  entries_.push_back(d);
}

Bytes DynamicSection::encode() const {
  Bytes out;
  for (const Elf64_Dyn& d : entries_) append(out, d);
  append(out, Elf64_Dyn{});
  return out;
}

void DynamicSection::write_in_place(Bytes& file) const {
  Bytes bytes = encode();
  std::ranges::copy(bytes, file.begin() + long(offset_.value));
}

HookImports::HookImports(const Image& image, std::string library, LinkerWishes wishes)
    : image_(image),
      library_(std::move(library)),
      wishes_(std::move(wishes)),
      is_library_(image.link_type() == LinkType::shared_library),
      dynamic_(image) {
  if (is_library_)
    names_.assign(std::begin(kOfLibrary), std::end(kOfLibrary));
  else
    names_.assign(std::begin(kOfProgram), std::end(kOfProgram));
  if (!is_library_ && wishes_.traces) names_.push_back(kTraceFunction);
  for (const ReplacedFunction& f : replaced_functions(image)) names_.push_back(f.replacement);
  auto value = [&](int64_t tag) { return image.dynamic_value(tag).value_or(0); };
  if (!is_library_ && !image.segment(PT_INTERP)) throw refusal(Refusal::no_interpreter);
  symbols_.old = OldAddr(value(DT_SYMTAB));
  strings_.old = OldAddr(value(DT_STRTAB));
  strings_.old_size = value(DT_STRSZ);
  if (!symbols_.exists() || !strings_.exists())
    throw Error("damaged dynamic section: it has no symbol table; use an intact file");
  if (auto hash = image.dynamic_value(DT_GNU_HASH)) {
    gnu_hash_.old = OldAddr(*hash);
    gnu_layout_ = GnuHashTable::read(image.bytes_from(gnu_hash_.old));
    gnu_hash_.old_size = gnu_layout_->size();
  }
  symbol_count_ = count_symbols(image, symbols_.old, gnu_layout_);
  symbols_.old_size = uint64_t(symbol_count_) * sizeof(Elf64_Sym);
  if (auto versions = image.dynamic_value(DT_VERSYM)) {
    versions_.old = OldAddr(*versions);
    versions_.old_size = uint64_t(symbol_count_) * sizeof(Elf64_Versym);
  }
  if (auto hash = image.dynamic_value(DT_HASH)) {
    hash_.old = OldAddr(*hash);
    Reader r(image.bytes_from(hash_.old), "symbol hash table");
    buckets_ = r.u32();
    chains_ = std::min(r.u32(), symbol_count_);
    hash_.old_size = (2 + uint64_t(buckets_) + chains_) * 4;
    if (buckets_ == 0) throw Error("damaged symbol hash table; use an intact file");
  }
  if (auto rela = image.dynamic_value(DT_RELA)) {
    rela_.old = OldAddr(*rela);
    rela_.old_size = value(DT_RELASZ) / sizeof(Elf64_Rela) * sizeof(Elf64_Rela);
    // If the size includes .rela.plt (old linkers), that part stays where DT_JMPREL says.
    uint64_t plt = value(DT_JMPREL);
    if (plt >= *rela && plt - *rela < rela_.old_size) rela_.old_size = plt - *rela;
  }

  // The values are set when the places are known. The entries are added now, to know whether the section fits.
  need_ = place_of_need();
  dynamic_.insert(need_, DT_NEEDED);
  for (int64_t tag : {DT_SYMTAB, DT_STRTAB, DT_STRSZ, DT_RELA, DT_RELASZ}) dynamic_.set(tag, 0);
  dynamic_.set(DT_RELAENT, sizeof(Elf64_Rela));
  if (is_library_)
    dynamic_.set(DT_INIT, 0);
  else
    dynamic_.add(prof_format::kHooksTag, 0);
  if (!wishes_.audit.empty()) {
    if (auto others = image.dynamic_value(DT_AUDIT)) wishes_.audit += ":" + string_at(*others);
    dynamic_.set(DT_AUDIT, 0);
  }
  if (!wishes_.search_path.empty()) {
    const auto others = image.dynamic_value(search_path_tag());
    if (others) wishes_.search_path += ":" + string_at(*others);
    dynamic_.set(search_path_tag(), 0);
  }
}

// A DT_RPATH goes for the libraries' needs as well, and is not looked at where there is a DT_RUNPATH.
int64_t HookImports::search_path_tag() const {
  return image_.dynamic_value(DT_RPATH) && !image_.dynamic_value(DT_RUNPATH) ? DT_RPATH : DT_RUNPATH;
}

std::string HookImports::string_at(uint64_t offset) const {
  if (offset >= strings_.old_size) throw Error("damaged dynamic section: a library without a name; use an intact file");
  const ByteView bytes = image_.bytes_from(strings_.old + offset);
  return std::string(bytes.begin(), std::ranges::find(bytes, 0));
}

// The index for the new entry for libprof.so: before the C library's, else after the last.
size_t HookImports::place_of_need() const {
  const std::vector<Elf64_Dyn>& entries = dynamic_.entries();
  size_t place = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].d_tag != DT_NEEDED) continue;
    if (entries[i].d_un.d_val >= strings_.old_size)
      throw Error("damaged dynamic section: a library without a name; use an intact file");
    ByteView name = image_.bytes_from(strings_.old + entries[i].d_un.d_val);
    if (name.size() >= kCLibrary.size() && std::ranges::equal(name.first(kCLibrary.size()), kCLibrary)) return i;
    place = i + 1;
  }
  return place;
}

void HookImports::reserve_table(Segment& segment, Table& table, uint64_t size, uint64_t align) {
  old_bytes(image_.file(), table);  // throws now rather than later
  table.size = size;
  table.place = segment.reserve(size, align);
}

void HookImports::name_copies(std::vector<NamedPart> parts) {
  // Symbols that a hash table does not lead to are none.
  const GnuHashTable found = gnu_layout_.value_or(GnuHashTable{.end = symbol_count_});
  const bool are_known = found.end <= symbol_count_ && symbol_count_ <= image_.dynamic_symbols().size();
  std::erase_if(parts,
                [&](const NamedPart& p) { return !are_known || p.symbol < found.first || p.symbol >= found.end; });
  copies_ = std::move(parts);
}

void HookImports::reserve_tables(Segment& read_only) {
  reserve_table(read_only, symbols_, symbols_.old_size + added_symbols() * sizeof(Elf64_Sym), 8);
  uint64_t names = library_.size() + 1;
  for (const char* name : names_) names += std::strlen(name) + 1;
  for (const std::string* wish : {&wishes_.audit, &wishes_.search_path})
    if (!wish->empty()) names += wish->size() + 1;
  reserve_table(read_only, strings_, strings_.old_size + names, 1);
  if (versions_.exists())
    reserve_table(read_only, versions_, versions_.old_size + added_symbols() * sizeof(Elf64_Versym), 2);
  if (hash_.exists())
    reserve_table(read_only, hash_, (2 + uint64_t(buckets_) + symbol_count_ + added_symbols()) * 4, 8);
  if (moves_gnu_hash()) reserve_table(read_only, gnu_hash_, gnu_layout_->size_with(symbol_count_ + added_symbols()), 8);
  reserve_table(read_only, rela_, rela_.old_size + names_.size() * sizeof(Elf64_Rela), 8);
}

void HookImports::reserve_hook_slots(Segment& writable) {
  hook_slots_ = writable.reserve(slots_size(), 8);
  if (!dynamic_.fits()) dynamic_place_ = writable.reserve(dynamic_.encoded_size(), 8);
}

Bytes HookImports::old_bytes(ByteView file, const Table& table) const {
  ByteView v = mapped_bytes(image_, file, table.old, table.old_size, "dynamic section");
  return Bytes(v.begin(), v.end());
}

Bytes HookImports::hash_table(ByteView file) const {
  Bytes out = old_bytes(file, hash_);
  out.resize(hash_.size);
  put(out, 4, uint32_t(symbol_count_ + added_symbols()));
  // Each new symbol becomes the head of its bucket's chain.
  uint64_t chains = 8 + uint64_t(buckets_) * 4;
  uint32_t symbol = symbol_count_;
  for (const char* name : names_) {
    uint64_t bucket = 8 + uint64_t(sysv_hash(name) % buckets_) * 4;
    uint32_t head;
    std::memcpy(&head, out.data() + bucket, sizeof head);
    put(out, chains + uint64_t(symbol) * 4, head);
    put(out, bucket, symbol++);
  }
  return out;
}

Bytes HookImports::gnu_hash_table(ByteView file) const {
  std::vector<std::string> names;
  for (uint32_t i = gnu_layout_->end; i < symbol_count_; ++i) names.push_back(image_.dynamic_symbols()[i].name);
  names.insert(names.end(), names_.begin(), names_.end());
  for (const NamedPart& p : copies_) names.push_back(image_.dynamic_symbols()[p.symbol].name);
  Bytes out = old_bytes(file, gnu_hash_);
  append_unfindable(out, *gnu_layout_, names);
  return out;
}

void HookImports::write_copies(Segment& read_only, const CopyMap& copies, unsigned section) const {
  const uint64_t after_hooks = symbols_.old_size + names_.size() * sizeof(Elf64_Sym);
  Bytes symbols;
  for (const NamedPart& p : copies_) {
    Elf64_Sym original;
    const uint64_t at = p.symbol * sizeof original;
    std::memcpy(&original, image_.bytes_from(symbols_.old + at).data(), sizeof original);
    append(symbols, symbol_of_copy(original, p, copies));
    if (section != 0) put(symbols, symbols.size() - sizeof original + offsetof(Elf64_Sym, st_shndx), uint16_t(section));
  }
  read_only.write(symbols_.place + after_hooks, symbols);
}

Bytes HookImports::relocations(ByteView file) const {
  Bytes out = old_bytes(file, rela_);
  uint64_t relative = image_.dynamic_value(DT_RELACOUNT).value_or(0);
  uint64_t at = std::min(relative, rela_.old_size / sizeof(Elf64_Rela)) * sizeof(Elf64_Rela);
  Bytes relocations;
  for (uint64_t i = 0; i < names_.size(); ++i) {
    Elf64_Rela r{};
    r.r_offset = hook_slots_.value + i * 8;
    r.r_info = ELF64_R_INFO(uint64_t(symbol_count_ + i), R_X86_64_GLOB_DAT);
    append(relocations, r);
  }
  out.insert(out.begin() + long(at), relocations.begin(), relocations.end());
  return out;
}

void HookImports::write(Bytes& file, Segment& read_only, Segment& writable, NewAddr init, SectionEdits& edits) const {
  Bytes strings = old_bytes(file, strings_);
  auto add_string = [&](const char* s, size_t length) {
    uint64_t at = strings.size();
    strings.insert(strings.end(), s, s + length);
    strings.push_back(0);
    return at;
  };
  uint64_t library = add_string(library_.data(), library_.size());
  Bytes symbols = old_bytes(file, symbols_);
  for (const char* name : names_) append(symbols, undefined_function(add_string(name, std::strlen(name))));
  symbols.resize(symbols_.size);  // write_copies fills the rest
  auto add_wish = [&](const std::string& s) { return s.empty() ? 0 : add_string(s.data(), s.size()); };
  const uint64_t audit = add_wish(wishes_.audit), search_path = add_wish(wishes_.search_path);

  auto place = [&](const Table& table, uint32_t type, const Bytes& bytes) {
    read_only.write(table.place, bytes);
    edits.move(table.exists() ? section_at(image_, table.old.value, type) : nullptr, table.place, table.size);
  };
  place(symbols_, SHT_DYNSYM, symbols);
  place(strings_, SHT_STRTAB, strings);
  if (versions_.exists()) {
    Bytes versions = old_bytes(file, versions_);
    for (size_t i = 0; i < names_.size(); ++i) append(versions, Elf64_Versym(VER_NDX_GLOBAL));
    for (const NamedPart& p : copies_) {
      Elf64_Versym version;
      std::memcpy(&version, versions.data() + p.symbol * sizeof version, sizeof version);
      append(versions, Elf64_Versym(version | kHiddenVersion));
    }
    place(versions_, SHT_GNU_versym, versions);
  }
  if (hash_.exists()) place(hash_, SHT_HASH, hash_table(file));
  if (moves_gnu_hash()) place(gnu_hash_, SHT_GNU_HASH, gnu_hash_table(file));
  read_only.write(rela_.place, relocations(file));
  edit_relocation_section(image_, rela_.place, rela_.size, edits);
  edits.add(".prof.got", SHT_PROGBITS, SHF_WRITE, hook_slots_, slots_size(), 8);

  DynamicSection dynamic = dynamic_;
  dynamic.set_entry(need_, library);
  dynamic.set(DT_SYMTAB, symbols_.place.value);
  dynamic.set(DT_STRTAB, strings_.place.value);
  dynamic.set(DT_STRSZ, strings_.size);
  if (versions_.exists()) dynamic.set(DT_VERSYM, versions_.place.value);
  if (hash_.exists()) dynamic.set(DT_HASH, hash_.place.value);
  if (moves_gnu_hash()) dynamic.set(DT_GNU_HASH, gnu_hash_.place.value);
  dynamic.set(DT_RELA, rela_.place.value);
  dynamic.set(DT_RELASZ, rela_.size);
  if (is_library_)
    dynamic.set(DT_INIT, init.value);
  else
    dynamic.set(prof_format::kHooksTag, hook_slots_.value);
  if (audit) dynamic.set(DT_AUDIT, audit);
  if (search_path) dynamic.set(search_path_tag(), search_path);
  if (dynamic_place_) {
    writable.write(*dynamic_place_, dynamic.encode());
    edits.move(section_at(image_, dynamic_.address().value, SHT_DYNAMIC), *dynamic_place_, dynamic.encoded_size());
  } else {
    dynamic.write_in_place(file);
  }
}

// A logger that says who called it asks dladdr for the function that its return address lies in, which is a copy now.
// So the copies of functions that dynamic symbols name have dynamic symbols, too: of the same names, with the addresses
// and sizes of the copies. But whoever looks for a name (the dynamic linker, dlsym, a linker that links with a copied
// library) has to find the original, whose address is the function's identity. What makes the difference:
//
// - dladdr of glibc goes through all chains of DT_GNU_HASH and compares nothing but addresses; where there is only
//   DT_HASH, through the whole table of symbols, as musl always does, up to the last symbol that a chain leads to.
// - A search for a name begins at one bucket. In DT_HASH it follows the chain, which the new symbols are not in. In
//   DT_GNU_HASH it compares the hash of the name with the one in the chain before it looks at the symbol. All chains
//   are one array beside the table of symbols, so the new symbols go on with the chain that is the last; each with a
//   hash that is not its name's, so that what has the hash has not the name.
//
// In DT_VERSYM the new symbols are hidden ones of their original's version: for readers of files, who know names and
// versions only, these are the second choice.
//
// Several symbols of one address all have a copy, in the same order, so everybody's first choice stays the first. Where
// a symbol covers code that unwind tables divide, each part has its own. Parts that the compiler split off (foo.cold)
// have no dynamic symbols in the original either, and get none: dladdr finds no name, as it did.
//
// dli_saddr, where the named function begins, is the copy's address for a return address, and the original's for a
// pointer to the function. It cannot be the same: the symbol with the highest address at or below the one that is
// asked for wins, and between the two lie all other functions.

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
