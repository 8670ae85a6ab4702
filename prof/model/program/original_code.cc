#include "original_code.h"

#include <gelf.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "object.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "prof/read/instructions.h"

namespace prof {

namespace {

// What files hold of code: its bytes, and the names of the functions of other files that it calls.

// The bytes of code from an address (link-time) on, fewer than `size` where a section of code ends; empty if the file
// does not have them: skeletons and debug files have none.
std::string code_at(const ElfFile& file, uint64_t address, uint64_t size) {
  std::optional<uint64_t> offset;
  bool has_sections = false;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.elf(), section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) continue;
    has_sections = true;
    const uint64_t into = address - header.sh_addr;
    if (header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_EXECINSTR) || into >= header.sh_size) continue;
    size = std::min(size, header.sh_size - into);
    offset = header.sh_offset + into;
    break;
  }
  if (!has_sections) offset = file.offset_of(address);
  return offset ? file.bytes_at(*offset, size) : "";
}

// Adds those of a section of relocations.
void add_names(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, std::map<uint64_t, std::string>& names) {
  Elf_Scn* symbols = elf_getscn(elf, header.sh_link);
  GElf_Shdr symbols_header;
  if (!symbols || !gelf_getshdr(symbols, &symbols_header) || symbols_header.sh_type != SHT_DYNSYM) return;
  Elf_Data* entries = elf_getdata(section, nullptr);
  Elf_Data* table = elf_getdata(symbols, nullptr);
  if (!entries || !table) return;
  GElf_Rela entry;
  for (int i = 0; gelf_getrela(entries, i, &entry); ++i) {
    const uint64_t type = GELF_R_TYPE(entry.r_info);
    GElf_Sym symbol;
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
    if (!gelf_getsym(table, int(GELF_R_SYM(entry.r_info)), &symbol)) continue;
    const char* name = elf_strptr(elf, symbols_header.sh_link, symbol.st_name);
    if (name && *name) names.emplace(entry.r_offset, name);
  }
}

// By the address (link-time) of the word in which the dynamic linker puts a function's address: its name.
std::map<uint64_t, std::string> names_in_got(const ElfFile& file) {
  std::map<uint64_t, std::string> names;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.elf(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA) add_names(file.elf(), section, header, names);
  }
  return names;
}

constexpr const char* kCode = ".text";

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool has_code(const ElfFile& file) { return file.has_section(kCode); }

}  // namespace

OriginalCode::OriginalCode(const Object& object, const DebugSearch& search) : object_(object) {
  const std::vector<ElfFile>& files = object.files();
  const auto own = std::find_if(files.begin(), files.end(),
                                [](const ElfFile& file) { return !file.is_rewritten() && has_code(file); });
  if (own != files.end()) {
    file_ = &*own;
  } else if (!files.empty()) {
    if (std::optional<ElfFile> found = find_original(object, search)) found_.emplace(std::move(*found));
    file_ = found_ ? &*found_ : has_code(files[0]) ? files.data() : nullptr;
  }
  is_original_ = file_ && !file_->is_rewritten();
  for (const prof_format::MapEntry& entry : object.copies())
    if (!object.import_name(entry.function)) ranges_.insert({entry.function, {entry.original, entry.original_size}});
  if (file_) got_ = names_in_got(*file_);
}

std::optional<ElfFile> find_original(const Object& object, const DebugSearch& search) {
  const ElfFile& copy = object.files()[0];
  const std::string path = copy.path();
  std::vector<std::string> places;
  if (path.ends_with(".prof")) places.push_back(path.substr(0, path.size() - 5));
  for (const std::vector<std::string>* folders : {&search.beside, &search.folders})
    for (const std::string& folder : *folders) places.push_back(folder + "/" + base_name(object.name()));
  places.push_back(object.path());
  places.push_back(folder_of(path) + "/" + base_name(object.name()));
  places.push_back(base_name(object.name()));
  // A copy that prof run --libs made lies at the original's path below a folder of its own.
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    places.push_back(path.substr(slash));
  for (const std::string& place : places) {
    try {
      ElfFile file(place);
      const bool is_same = copy.original_build_id().empty()
                               ? file.build_id().empty() && file.section_size(kCode) == copy.section_size(kCode)
                               : file.build_id() == copy.original_build_id();
      if (is_same && !file.is_rewritten() && has_code(file)) return file;
    } catch (const Error&) {
      // another place may have it
    }
  }
  return {};
}

std::optional<int64_t> OriginalCode::time_made() const { return file_ ? time_of_change(file_->path()) : std::nullopt; }

std::string OriginalCode::bytes(uint64_t address, uint64_t size) const {
  constexpr uint64_t kWindow = 64 << 10;
  if (!file_) return "";
  const uint64_t into = address - window_start_;
  if (into <= window_.size() && size <= window_.size() - into) return window_.substr(into, size);
  window_start_ = address;
  window_ = code_at(*file_, address, std::max(size, kWindow));
  return window_.substr(0, size);
}

std::vector<CodeRange> OriginalCode::ranges_of(uint64_t entry) const {
  std::vector<CodeRange> found;
  const auto [begin, end] = ranges_.equal_range(entry);
  for (auto at = begin; at != end; ++at) found.push_back(at->second);
  std::sort(found.begin(), found.end(), [](const CodeRange& a, const CodeRange& b) { return a.start < b.start; });
  if (!found.empty()) return found;
  const Symbol* symbol = object_.symbols().find(entry);
  if (symbol && symbol->size > entry - symbol->address)
    found.push_back({entry, symbol->size - (entry - symbol->address)});
  return found;
}

std::string OriginalCode::import_at(uint64_t address) const {
  if (const std::string* name = object_.import_name(address)) return *name;
  if (const auto at = got_.find(address); at != got_.end()) return at->second;
  // A stub jumps to what a word of the GOT says, after an ENDBR64 and a number maybe; or it loads that into r11, for a
  // retpoline (linker-rewrite/program/imports.cc).
  constexpr uint64_t kStub = 16;
  constexpr std::string_view kWordToR11 = "\x4c\x8b\x1d";
  const std::string stub = bytes(address, kStub);
  const bool is_retpoline = stub.starts_with(kWordToR11);
  for (const Instruction& i : decode_instructions(stub, address)) {
    if (i.transfer == Transfer::none && !i.memory) continue;
    const bool leads_there = is_retpoline || i.transfer == Transfer::jump_indirect;
    const auto at = i.memory && leads_there ? got_.find(*i.memory) : got_.end();
    return at == got_.end() ? "" : at->second;
  }
  return "";
}

}  // namespace prof
