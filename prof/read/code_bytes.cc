#include "code_bytes.h"

#include <gelf.h>

#include <algorithm>
#include <optional>

namespace prof {

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

namespace {

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

}  // namespace

std::map<uint64_t, std::string> names_in_got(const ElfFile& file) {
  std::map<uint64_t, std::string> names;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.elf(), section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA) add_names(file.elf(), section, header, names);
  }
  return names;
}

}  // namespace prof
