// How a dynamic program or a shared library calls the hooks in libprof.so: as if it had been linked with it.
//
// It needs the library (DT_NEEDED), four undefined symbols, and four pointers ("hook slots") that the dynamic linker
// fills with their addresses (R_X86_64_GLOB_DAT). In a program libprof.so later replaces the first two, those of the hooks
// that each call comes to, by the addresses of the hooks that it selects; an entry of the dynamic section tells it where
// the slots are. Those of a library stay as they are: it may be unloaded at any time. A library has a fifth symbol and
// slot, for its DT_INIT (library_start.h). Symbols, strings, symbol versions and relocations are arrays without room at their end, so each is copied into a new segment with the new entries; the
// dynamic section, which says where they are, is changed in place: GNU ld leaves five spare DT_NULLs at its end. lld
// leaves none; then the section moves as well. The dynamic linker finds it by PT_DYNAMIC. The old one's bytes stay as
// they were, for code that refers to `_DYNAMIC` directly; the only thing missing there is DT_DEBUG's value.
//
// The order of things matters in three places.
//
// - libprof.so is needed right before the C library. Libraries that do not depend on each other are initialized from
//   the last to the first, so it is ready before the libraries run that depend on the C library. In the search for
//   symbols it comes after them, so it can replace functions of the C library only, which it does for a few (sandbox.cc
//   and rights.cc in libprof). Libraries that must be first (AddressSanitizer) still are.
// - The hook slots are filled first after the RELATIVE block (DT_RELACOUNT says where that ends): the remaining
//   relocations may call functions of the program to learn an address (IRELATIVE, symbols of type IFUNC), which call
//   the hooks. The program itself is relocated after all its libraries, so libprof.so is fit to be called by then. The
//   symbols of libraries are others than those of programs: at that time they lead to hooks that do nothing.
// - The hash table DT_GNU_HASH names defined symbols only, and stays unless copies have symbols (copy_names.cc), which
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
  if (!h || !offset) throw Error("damaged program headers: the dynamic section is not loaded");
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
  const uint64_t behind_hooks = symbols_.old_size + names_.size() * sizeof(Elf64_Sym);
  Bytes symbols;
  for (const NamedPart& p : copies_) {
    Elf64_Sym original;
    const uint64_t at = p.symbol * sizeof original;
    std::memcpy(&original, image_.bytes_from(symbols_.old + at).data(), sizeof original);
    append(symbols, symbol_of_copy(original, p, copies));
    if (section != 0) put(symbols, symbols.size() - sizeof original + offsetof(Elf64_Sym, st_shndx), uint16_t(section));
  }
  read_only.write(symbols_.place + behind_hooks, symbols);
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

}  // namespace profld
