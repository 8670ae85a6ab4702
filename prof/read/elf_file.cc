#include "elf_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "error.h"
#include "file.h"
#include "linker-rewrite/elf/notes.h"
#include "linker-rewrite/text/numbers.h"

namespace prof {

namespace {

using prof_format::MapEntry;
using prof_format::MapHeader;

// profld gives the copy of a stripped file a table of symbols for debuggers, which has only what dynamic symbols tell.
// It begins with a symbol of profld's. In an original's own table its local symbols stand before that, its global ones
// after.
bool is_made_by_profld(Elf* elf, Elf_Scn* section) {
  GElf_Shdr header;
  GElf_Sym first;
  Elf_Data* data = elf_getdata(section, nullptr);
  if (!data || !gelf_getshdr(section, &header) || header.sh_entsize != sizeof(Elf64_Sym)) return false;
  if (header.sh_info != data->d_size / sizeof(Elf64_Sym) || !gelf_getsym(data, 1, &first)) return false;
  const char* name = elf_strptr(elf, header.sh_link, first.st_name);
  return GELF_ST_TYPE(first.st_info) == STT_FILE && name && std::strcmp(name, "profld") == 0;
}

bool can_name_code(unsigned char type) { return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE; }

// The versions of the symbols in .dynsym, 16 bits each; null if they have none.
const Elf_Data* symbol_versions(Elf* elf) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && header.sh_type == SHT_GNU_versym) return elf_rawdata(section, nullptr);
  }
  return nullptr;
}

// Whether a symbol of .dynsym has a version that only programs linked before find.
bool is_hidden_version(const Elf_Data* versions, size_t symbol) {
  constexpr uint16_t kHidden = 0x8000;
  uint16_t version = 0;
  if (!versions || !versions->d_buf || versions->d_size / sizeof version <= symbol) return false;
  std::memcpy(&version, static_cast<const char*>(versions->d_buf) + symbol * sizeof version, sizeof version);
  return version & kHidden;
}

// The same of one in .symtab, whose name tells.
bool names_old_version(const char* name) {
  const char* at = std::strchr(name + 1, '@');
  return at && at[1] != '@';
}

}  // namespace

ElfFile::ElfFile(const std::string& path) : path_(path) {
  elf_version(EV_CURRENT);
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) throw Error(path + ": " + system_error(errno));
  // Without mapping it: a file that shrinks while it is mapped is a SIGBUS.
  elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
  read();
}

ElfFile::ElfFile(const std::string& name, std::string bytes)
    : path_(name), bytes_(std::make_unique<std::string>(std::move(bytes))) {
  elf_version(EV_CURRENT);
  elf_ = elf_memory(bytes_->data(), bytes_->size());
  read();
}

void ElfFile::read() {
  size_t size = 0;
  const char* ident = elf_ ? elf_getident(elf_, &size) : nullptr;
  if (!elf_ || elf_kind(elf_) != ELF_K_ELF || !ident || size < EI_NIDENT || ident[EI_CLASS] != ELFCLASS64 ||
      ident[EI_DATA] != ELFDATA2LSB) {
    elf_end(elf_);
    if (fd_ >= 0) close(fd_);
    throw Error(path_ + ": is not a 64-bit ELF program");
  }
  GElf_Ehdr file_header;
  is_shared_object_ = gelf_getehdr(elf_, &file_header) && file_header.e_type == ET_DYN;
  size_t names = 0;
  const bool has_names = elf_getshdrstrndx(elf_, &names) == 0;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) continue;
    if (header.sh_type == SHT_NOTE) read_notes(elf_rawdata(section, nullptr), header.sh_addralign);
    if (header.sh_type == SHT_SYMTAB) symtab_ = section;
    const char* name = has_names ? elf_strptr(elf_, names, header.sh_name) : nullptr;
    if (name && std::strcmp(name, prof_format::kMapSection) == 0) rewritten_ = is_map(header);
    if (name && std::strcmp(name, prof_format::kImportsSection) == 0) read_imports(section);
  }
  if (build_id_.empty()) read_segment_notes();
  read_dynamic();
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : path_(std::move(other.path_)),
      bytes_(std::move(other.bytes_)),
      fd_(std::exchange(other.fd_, -1)),
      elf_(std::exchange(other.elf_, nullptr)),
      rewritten_(other.rewritten_),
      symtab_(other.symtab_),
      is_shared_object_(other.is_shared_object_),
      is_program_(other.is_program_),
      soname_(std::move(other.soname_)),
      build_id_(std::move(other.build_id_)),
      original_build_id_(std::move(other.original_build_id_)),
      imports_(std::move(other.imports_)),
      map_(std::move(other.map_)),
      names_(std::move(other.names_)) {}

ElfFile::~ElfFile() {
  elf_end(elf_);
  if (fd_ >= 0) close(fd_);
}

Elf_Scn* ElfFile::find_header(const char* name, bool with_bytes) const {
  size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return nullptr;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    const char* found = gelf_getshdr(section, &header) ? elf_strptr(elf_, names, header.sh_name) : nullptr;
    // What was taken out of a debug file keeps its name, but has no bytes.
    if (found && std::strcmp(found, name) == 0 && (header.sh_type != SHT_NOBITS) == with_bytes) return section;
  }
  return nullptr;
}

std::string_view ElfFile::section(const char* name) const {
  Elf_Scn* section = find_section(name);
  const Elf_Data* data = section ? elf_rawdata(section, nullptr) : nullptr;
  return data && data->d_buf ? std::string_view(static_cast<const char*>(data->d_buf), data->d_size)
                             : std::string_view();
}

std::optional<ElfFile::Range> ElfFile::section_range(const char* name) const {
  Elf_Scn* section = find_section(name);
  GElf_Shdr header;
  if (!section || !gelf_getshdr(section, &header)) return {};
  return Range{header.sh_offset, header.sh_size};
}

bool ElfFile::has_symtab() const { return symtab_ && !is_made_by_profld(elf_, symtab_); }

bool ElfFile::lacks_bytes_of(const char* name) const { return find_header(name, false) != nullptr; }

uint64_t ElfFile::section_size(const char* name) const {
  Elf_Scn* section = find_section(name);
  GElf_Shdr header;
  GElf_Chdr compressed;
  if (!section || !gelf_getshdr(section, &header)) return 0;
  return (header.sh_flags & SHF_COMPRESSED) && gelf_getchdr(section, &compressed) ? compressed.ch_size : header.sh_size;
}

profld::DebugLink ElfFile::debug_link() const {
  profld::DebugLink link;
  link.build_id = rewritten_ ? original_build_id_ : build_id_;
  profld::read_debuglink(section(".gnu_debuglink"), link);
  return link;
}

std::vector<GElf_Phdr> ElfFile::headers() const {
  std::vector<GElf_Phdr> found;
  size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) return found;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_, int(i), &header)) found.push_back(header);
  }
  return found;
}

// For programs whose section headers were removed.
void ElfFile::read_segment_notes() {
  for (const GElf_Phdr& header : headers()) {
    if (header.p_type != PT_NOTE) continue;
    read_notes(elf_getdata_rawchunk(elf_, int64_t(header.p_offset), header.p_filesz, ELF_T_BYTE), header.p_align);
  }
}

namespace {

bool may_be_run(const GElf_Phdr& header) { return header.p_type == PT_LOAD && (header.p_flags & PF_X); }

}  // namespace

std::optional<uint64_t> ElfFile::address_at(uint64_t offset) const {
  for (const GElf_Phdr& header : headers())
    if (may_be_run(header) && offset - header.p_offset < header.p_filesz)
      return header.p_vaddr + (offset - header.p_offset);
  return {};
}

std::optional<uint64_t> ElfFile::offset_of(uint64_t address) const {
  for (const GElf_Phdr& header : headers())
    if (may_be_run(header) && address - header.p_vaddr < header.p_filesz)
      return header.p_offset + (address - header.p_vaddr);
  return {};
}

// Not by libelf, which keeps each piece that was asked for, in a list that it goes through for the next.
std::string ElfFile::bytes_at(uint64_t offset, uint64_t size) const {
  struct stat file = {};
  if (!bytes_ && fstat(fd_, &file) != 0) return "";
  const uint64_t length = bytes_ ? bytes_->size() : uint64_t(file.st_size);
  if (offset > length || size > length - offset) return "";
  if (bytes_) return bytes_->substr(offset, size);
  std::string bytes(size, '\0');
  return read_bytes(bytes.data(), offset, size) ? bytes : "";
}

bool ElfFile::read_bytes(void* to, uint64_t offset, uint64_t size) const {
  if (bytes_) {
    if (offset > bytes_->size() || size > bytes_->size() - offset) return false;
    std::memcpy(to, bytes_->data() + offset, size);
    return true;
  }
  size_t done = 0;
  while (done < size) {
    const ssize_t n = pread(fd_, static_cast<char*>(to) + done, size - done, off_t(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += size_t(n);
  }
  return true;
}

std::string ElfFile::interpreter() const {
  for (const GElf_Phdr& header : headers()) {
    if (header.p_type == PT_INTERP) {
      const std::string path = bytes_at(header.p_offset, header.p_filesz);
      return path.substr(0, path.find('\0'));
    }
  }
  return "";
}

// In the file as the dynamic linker sees it: a file need not have sections.
std::vector<Elf64_Dyn> ElfFile::dynamic_entries() const {
  std::string bytes;
  for (const GElf_Phdr& header : headers())
    if (header.p_type == PT_DYNAMIC) bytes = bytes_at(header.p_offset, header.p_filesz);
  std::vector<Elf64_Dyn> entries;
  for (size_t at = 0; at + sizeof(Elf64_Dyn) <= bytes.size(); at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    if (entry.d_tag == DT_NULL) break;
    entries.push_back(entry);
  }
  return entries;
}

std::vector<std::string> ElfFile::dynamic_strings(int64_t tag) const {
  std::vector<uint64_t> found;
  uint64_t table = 0, size = 0;
  for (const Elf64_Dyn& entry : dynamic_entries()) {
    if (entry.d_tag == DT_STRTAB) table = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
    if (entry.d_tag == tag) found.push_back(entry.d_un.d_val);
  }
  std::vector<std::string> texts;
  for (const GElf_Phdr& header : headers()) {
    if (header.p_type != PT_LOAD || table - header.p_vaddr >= header.p_filesz) continue;
    const uint64_t offset = header.p_offset + (table - header.p_vaddr);
    texts.clear();
    for (uint64_t at : found)
      if (at < size) texts.push_back(text_at(offset + at, size - at));
  }
  return texts;
}

// The table of a large program has millions of bytes, so it is not read for one name.
std::string ElfFile::text_at(uint64_t offset, uint64_t most) const {
  constexpr uint64_t kPiece = 256;
  std::string text;
  while (most != 0) {
    const std::string piece = bytes_at(offset, std::min(most, kPiece));
    if (piece.empty()) break;
    const size_t end = piece.find('\0');
    text.append(piece, 0, end);
    if (end != std::string::npos) break;
    offset += piece.size();
    most -= piece.size();
  }
  return text;
}

std::vector<std::string> ElfFile::search_path() const {
  std::vector<std::string> folders;
  std::vector<std::string> texts = dynamic_strings(DT_RUNPATH);
  if (texts.empty()) texts = dynamic_strings(DT_RPATH);
  for (std::string rest : texts) {
    for (size_t colon = 0; colon != std::string::npos;) {
      colon = rest.find(':');
      folders.push_back(rest.substr(0, colon));
      rest.erase(0, colon == std::string::npos ? colon : colon + 1);
    }
  }
  return folders;
}

uint64_t ElfFile::static_tls() const {
  const std::vector<Elf64_Dyn> entries = dynamic_entries();
  if (std::ranges::none_of(entries,
                           [](const Elf64_Dyn& e) { return e.d_tag == DT_FLAGS && e.d_un.d_val & DF_STATIC_TLS; }))
    return 0;
  for (const GElf_Phdr& header : headers())
    if (header.p_type == PT_TLS && header.p_memsz <= UINT32_MAX)
      return header.p_memsz + std::min<uint64_t>(header.p_align, 4096);
  return 0;
}

void ElfFile::read_notes(const Elf_Data* data, uint64_t align) {
  if (!data || !data->d_buf) return;
  const profld::ByteView notes(static_cast<const uint8_t*>(data->d_buf), data->d_size);
  profld::each_note(notes, align == 8 ? 8 : 4, [&](const profld::Note& note) {
    const std::string value(note.descriptor.begin(), note.descriptor.end());
    if (note.is_build_id()) build_id_ = value;
    if (note.is_original_build_id()) original_build_id_ = value;
    return false;
  });
}

void ElfFile::read_dynamic() {
  for (const Elf64_Dyn& entry : dynamic_entries())
    if (entry.d_tag == DT_FLAGS_1) is_program_ = entry.d_un.d_val & DF_1_PIE;
  const std::vector<std::string> names = dynamic_strings(DT_SONAME);
  if (!names.empty()) soname_ = names[0];
}

bool ElfFile::is_map(const GElf_Shdr& section) const {
  MapHeader header;
  if (section.sh_type == SHT_NOBITS || section.sh_size < sizeof header) return false;
  const std::string bytes = bytes_at(section.sh_offset, sizeof header);
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  return std::memcmp(header.magic, prof_format::kMapMagic, sizeof header.magic) == 0 &&
         header.entry_size >= sizeof(MapEntry);
}

const std::vector<MapEntry>& ElfFile::map() const {
  if (map_) return *map_;
  map_ = std::make_unique<std::vector<MapEntry>>();
  const std::string_view bytes = rewritten_ ? section(prof_format::kMapSection) : "";
  MapHeader header;
  if (bytes.size() < sizeof header) return *map_;
  std::memcpy(&header, bytes.data(), sizeof header);
  const uint64_t room = (bytes.size() - sizeof header) / std::max<uint64_t>(header.entry_size, sizeof(MapEntry));
  map_->resize(std::min(header.entries, room));
  for (size_t i = 0; i < map_->size(); ++i)
    std::memcpy(&(*map_)[i], bytes.data() + sizeof header + i * header.entry_size, sizeof(MapEntry));
  if (!std::ranges::is_sorted(*map_, {}, &MapEntry::copy)) std::ranges::sort(*map_, {}, &MapEntry::copy);
  return *map_;
}

void ElfFile::read_imports(Elf_Scn* section) {
  Elf_Data* data = elf_rawdata(section, nullptr);
  prof_format::ImportsHeader header;
  if (!data || !data->d_buf || data->d_size < sizeof header) return;
  const std::string_view bytes(static_cast<const char*>(data->d_buf), data->d_size);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, prof_format::kImportsMagic, sizeof header.magic) != 0) return;
  if (header.entry_size < sizeof(prof_format::ImportEntry)) return;
  const std::string_view entries = bytes.substr(sizeof header);
  const uint64_t count = std::min(header.entries, entries.size() / header.entry_size);
  const std::string_view names = entries.substr(count * header.entry_size);
  // Names do not overlap; else a small file could name gigabytes.
  for (uint64_t i = 0, end = 0; i < count; ++i) {
    prof_format::ImportEntry entry;
    std::memcpy(&entry, entries.data() + i * header.entry_size, sizeof entry);
    if (entry.name < end || entry.name > names.size() || entry.name_size > names.size() - entry.name) return;
    end = uint64_t(entry.name) + entry.name_size;
    imports_.emplace(entry.function, names.substr(entry.name, entry.name_size));
  }
}

const ElfFile::Names& ElfFile::names() const {
  if (names_) return *names_;
  names_ = std::make_unique<Names>();
  const Elf_Data* versions = symbol_versions(elf_);
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) continue;
    if (header.sh_type == SHT_SYMTAB) read_symbols(section, nullptr, *names_);
    if (header.sh_type == SHT_DYNSYM) read_symbols(section, versions, *names_);
  }
  return *names_;
}

void ElfFile::read_symbols(Elf_Scn* section, const Elf_Data* versions, Names& names) const {
  GElf_Shdr header;
  Elf_Data* data = elf_getdata(section, nullptr);
  if (!data || !gelf_getshdr(section, &header) || header.sh_entsize != sizeof(Elf64_Sym)) return;
  const size_t count = data->d_size / sizeof(Elf64_Sym);
  names.symbols.reserve(names.symbols.size() + count);
  for (size_t i = 0; i < count; ++i) {
    GElf_Sym s;
    if (!gelf_getsym(data, int(i), &s)) continue;
    const unsigned char type = GELF_ST_TYPE(s.st_info);
    if (s.st_shndx == SHN_ABS || s.st_shndx == SHN_COMMON || !can_name_code(type)) continue;
    if (s.st_shndx == SHN_UNDEF && header.sh_type != SHT_DYNSYM) continue;
    const char* name = elf_strptr(elf_, header.sh_link, s.st_name);
    if (!name || !*name) continue;
    if (s.st_shndx == SHN_UNDEF) {
      names.undefined.emplace(name);
      continue;
    }
    const bool is_old = is_hidden_version(versions, i) || names_old_version(name);
    names.symbols.push_back({.address = s.st_value,
                             .size = s.st_size,
                             .name = name,
                             .type = type,
                             .binding = static_cast<unsigned char>(GELF_ST_BIND(s.st_info)),
                             .is_old_version = is_old});
  }
}

bool may_be_same(const std::string& build_id, const std::string& other) {
  return build_id.empty() || other.empty() || build_id == other;
}

std::string start_of_section(const std::string& path, std::string_view name, size_t most) {
  elf_version(EV_CURRENT);
  const Descriptor file(open_to_read(path));
  const std::unique_ptr<Elf, int (*)(Elf*)> elf(file.get() < 0 ? nullptr : elf_begin(file.get(), ELF_C_READ, nullptr),
                                                elf_end);
  size_t names = 0;
  if (!elf || elf_getshdrstrndx(elf.get(), &names) != 0) return "";
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr header;
    const char* found = gelf_getshdr(section, &header) ? elf_strptr(elf.get(), names, header.sh_name) : nullptr;
    if (!found || name != found || header.sh_type == SHT_NOBITS) continue;
    std::string bytes(std::min<uint64_t>(header.sh_size, most), '\0');
    const ssize_t n = pread(file.get(), bytes.data(), bytes.size(), off_t(header.sh_offset));
    bytes.resize(n < 0 ? 0 : size_t(n));
    return bytes;
  }
  return "";
}

std::string build_id_of(const std::string& path) {
  try {
    return ElfFile(path).build_id();
  } catch (const Error&) {
    return "";
  }
}

std::string build_id_text(const std::string& bytes) {
  return bytes.empty() ? "(none)" : prof_text::hexadecimal_of(bytes);
}

// .eh_frame_hdr: the linker's sorted table of all FDEs, for searches at run time (Linux Standard Base, core, 10.6.2).
//
//   1 byte    version: 1
//   3 bytes   encodings of the address of .eh_frame, of the count, and of the table
//   4 bytes   address of .eh_frame
//   4 bytes   count
//   8 bytes   for each FDE: where its code begins, and where it is itself, both less the address of the header
//
// Linkers write no other encodings than these.

namespace {

constexpr unsigned char kUnsigned4 = 0x03, kRelativeToHeader4 = 0x3b;
constexpr size_t kTable = 12;  // bytes before it

}  // namespace

std::vector<uint64_t> ElfFile::unwind_starts() const {
  std::vector<uint64_t> starts;
  size_t segments = 0;
  if (elf_getphdrnum(elf_, &segments) != 0) return starts;
  for (size_t i = 0; i < segments; ++i) {
    GElf_Phdr header;
    if (!gelf_getphdr(elf_, int(i), &header) || header.p_type != PT_GNU_EH_FRAME) continue;
    const Elf_Data* data = elf_getdata_rawchunk(elf_, int64_t(header.p_offset), header.p_filesz, ELF_T_BYTE);
    if (!data || !data->d_buf || data->d_size < kTable) continue;
    const char* bytes = static_cast<const char*>(data->d_buf);
    if (bytes[0] != 1 || bytes[2] != char(kUnsigned4) || bytes[3] != char(kRelativeToHeader4)) continue;
    uint32_t count = 0;
    std::memcpy(&count, bytes + 8, sizeof count);
    const size_t there = std::min<size_t>(count, (data->d_size - kTable) / 8);
    for (size_t f = 0; f < there; ++f) {
      int32_t start = 0;
      std::memcpy(&start, bytes + kTable + 8 * f, sizeof start);
      starts.push_back(header.p_vaddr + uint64_t(int64_t(start)));
    }
  }
  std::sort(starts.begin(), starts.end());
  return starts;
}

}  // namespace prof
