#include "dwarf_file.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace prof {

namespace {

constexpr unsigned kZstd = 2;  // ELFCOMPRESS_ZSTD, the highest that is known; elf.h may be older
// More than any real section unpacks to, as libelf has it for zlib: a few bytes could be made to unpack to any number.
constexpr uint64_t kMaxOfOneByte = 1032;
constexpr unsigned kMaxNamed = 2;

// A section of debug information; .zdebug_ is an older way to compress one, and libdw knows it.
bool is_of_debug_info(const char* name) {
  const std::string_view text(name);
  return text.starts_with(".debug_") || text.starts_with(".zdebug_") || text == ".gnu_debugaltlink";
}

// How a section is compressed; 0 if it is not.
unsigned compression_of(Elf_Scn* section, const GElf_Shdr& header) {
  GElf_Chdr compressed;
  return (header.sh_flags & SHF_COMPRESSED) && gelf_getchdr(section, &compressed) ? compressed.ch_type : 0;
}

std::string_view bytes_of(Elf_Scn* section) {
  const Elf_Data* data = elf_rawdata(section, nullptr);
  return data && data->d_buf ? std::string_view(static_cast<const char*>(data->d_buf), data->d_size)
                             : std::string_view();
}

// The bytes of a section that is compressed by zstd, and its alignment. Nothing if they are damaged.
std::optional<std::string> unpacked(std::string_view section, uint64_t& alignment) {
  Elf64_Chdr header;
  if (section.size() < sizeof header) return {};
  std::memcpy(&header, section.data(), sizeof header);
  const std::string_view packed = section.substr(sizeof header);
  if (header.ch_size / kMaxOfOneByte > packed.size()) return {};
  std::string bytes(header.ch_size, '\0');
  if (ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()) != bytes.size()) return {};
  alignment = header.ch_addralign;
  return bytes;
}

// Calls `use` with each section of debug information that has bytes: its name, itself and its header.
template <class Use>
void each_section(Elf* elf, const Use& use) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name && is_of_debug_info(name)) use(name, section, header);
  }
}

// Puts a file together: the header, the bytes of sections, their headers.
class Builder {
 public:
  explicit Builder(Elf* elf) {
    GElf_Ehdr header;
    if (gelf_getehdr(elf, &header)) header_ = header;
    bytes_.assign(sizeof header_, '\0');
  }

  void add(const char* name, GElf_Shdr header, std::string_view bytes) {
    header.sh_name = uint32_t(names_.size());
    names_.append(name, std::strlen(name) + 1);
    header.sh_offset = place(bytes);
    header.sh_size = bytes.size();
    header.sh_link = header.sh_info = 0;
    sections_.push_back(header);
  }

  std::string build() {
    GElf_Shdr last{};
    last.sh_type = SHT_STRTAB;
    add(".shstrtab", last, "");
    sections_.back().sh_offset = place(names_);
    sections_.back().sh_size = names_.size();
    header_.e_phoff = header_.e_phnum = 0;
    header_.e_shoff = place("");
    header_.e_shentsize = sizeof(Elf64_Shdr);
    header_.e_shnum = uint16_t(sections_.size());
    header_.e_shstrndx = uint16_t(sections_.size() - 1);
    bytes_.append(reinterpret_cast<const char*>(sections_.data()), sections_.size() * sizeof sections_[0]);
    std::memcpy(bytes_.data(), &header_, sizeof header_);
    return std::move(bytes_);
  }

 private:
  uint64_t place(std::string_view bytes) {
    bytes_.resize((bytes_.size() + 15) / 16 * 16);
    const uint64_t at = bytes_.size();
    bytes_.append(bytes);
    return at;
  }

  Elf64_Ehdr header_{};
  std::string bytes_;
  std::string names_ = std::string(1, '\0');
  std::vector<Elf64_Shdr> sections_ = std::vector<Elf64_Shdr>(1);
};

std::string string_of(Dwarf_Die& unit, unsigned kind) {
  Dwarf_Attribute attribute;
  const char* text = dwarf_formstring(dwarf_attr(&unit, kind, &attribute));
  return text ? text : "";
}

bool is_skeleton(const Dwarf_Die& unit) {
  Dwarf_Half version = 0;
  uint8_t type = 0;
  return dwarf_cu_info(unit.cu, &version, &type, nullptr, nullptr, nullptr, nullptr, nullptr) == 0 &&
         type == DW_UT_skeleton;
}

// libdw would open whatever has the name, and wait for somebody to write into a FIFO.
bool is_special(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

bool is_file(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

bool has_debug_info(const ElfFile& file) { return file.has_section(".debug_info") || file.has_section(".zdebug_info"); }

DwarfFile::DwarfFile(const ElfFile& file) : path_(file.path()) {
  if (!has_debug_info(file)) return;
  may_be_split_ =
      file.has_section(".debug_addr") || file.has_section(".zdebug_addr");  // the .dwo files have no addresses
  unpack_zstd(file);
  if (!problem_.empty()) return;
  dwarf_ = dwarf_begin_elf(elf_ ? elf_ : file.elf(), DWARF_C_READ, nullptr);
  if (!dwarf_) problem_ = std::string("its debug information cannot be read: ") + dwarf_errmsg(-1);
}

DwarfFile::~DwarfFile() {
  dwarf_end(dwarf_);
  elf_end(elf_);
}

DwzLink DwarfFile::dwz_link() const {
  const char* name = nullptr;
  const void* id = nullptr;
  const ssize_t size = dwarf_ ? dwelf_dwarf_gnu_debugaltlink(dwarf_, &name, &id) : 0;
  if (size <= 0 || !name) return {};
  return {name, std::string(static_cast<const char*>(id), size_t(size))};
}

void DwarfFile::set_dwz_file(const ElfFile& file) {
  dwz_ = std::make_unique<DwarfFile>(file);
  if (dwz_->get() && dwarf_) dwarf_setalt(dwarf_, dwz_->get());
}

void DwarfFile::unpack_zstd(const ElfFile& file) {
  bool is_needed = false;
  each_section(file.elf(), [&](const char* name, Elf_Scn* section, const GElf_Shdr& header) {
    const unsigned compression = compression_of(section, header);
    is_needed = is_needed || compression == kZstd;
    if (compression > kZstd && problem_.empty())
      problem_ = std::string("its debug information cannot be read: ") + name +
                 " is compressed in an unknown way, number " + std::to_string(compression);
  });
  if (!is_needed || !problem_.empty()) return;
  Builder builder(file.elf());
  each_section(file.elf(), [&](const char* name, Elf_Scn* section, GElf_Shdr header) {
    if (compression_of(section, header) != kZstd) return builder.add(name, header, bytes_of(section));
    header.sh_flags &= ~uint64_t(SHF_COMPRESSED);
    const std::optional<std::string> bytes = unpacked(bytes_of(section), header.sh_addralign);
    if (bytes) return builder.add(name, header, *bytes);
    problem_ = std::string("its debug information cannot be read: ") + name + ", compressed by zstd, is damaged";
  });
  if (!problem_.empty()) return;
  unpacked_ = builder.build();
  elf_ = elf_memory(unpacked_.data(), unpacked_.size());
  if (!elf_) problem_ = std::string("its debug information cannot be read: ") + elf_errmsg(-1);
}

void DwarfFile::each_unit(const std::function<bool(Dwarf_Die& unit)>& use) {
  if (!dwarf_) return;
  Dwarf_CU* unit = nullptr;
  Dwarf_Die entry;
  int result = 0;
  while ((result = dwarf_get_units(dwarf_, unit, &unit, nullptr, nullptr, &entry, nullptr)) == 0)
    if (!use(entry)) return;
  if (result < 0) problem_ = std::string("a part of its debug information cannot be read: ") + dwarf_errmsg(-1);
}

bool DwarfFile::is_split() {
  bool found = false;
  if (!may_be_split_) return false;
  each_unit([&](const Dwarf_Die& unit) {
    found = is_skeleton(unit);
    return !found;
  });
  return found;
}

std::optional<Dwarf_Die> DwarfFile::unit_with_functions(const Dwarf_Die& unit) {
  if (!is_skeleton(unit)) return unit;
  Dwarf_Die entry = unit, split{};
  std::string name = string_of(entry, DW_AT_dwo_name);
  if (name.empty()) name = string_of(entry, DW_AT_GNU_dwo_name);
  const std::string folder = string_of(entry, DW_AT_comp_dir);
  const std::string beside = path_.substr(0, path_.rfind('/') + 1);
  std::vector<std::string> places = {name};
  if (!name.starts_with('/')) places = {beside + name, folder + "/" + name, name};
  bool may_open = true;
  for (const std::string& place : places) may_open = may_open && !is_special(place);
  if (may_open && dwarf_cu_info(unit.cu, nullptr, nullptr, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
      split.addr)
    return split;
  missing_.insert(name.starts_with('/') || folder.empty() ? name : folder + "/" + name);
  return {};
}

std::string DwarfFile::problem() const {
  if (!problem_.empty()) return problem_;
  if (dwz_ && !dwz_->get()) return dwz_->path_ + ", with a part of its debug information: " + dwz_->problem();
  if (missing_.empty()) return "";
  std::string text = "a part of its debug information, in ";
  unsigned named = 0;
  for (const std::string& name : missing_)
    if (++named <= kMaxNamed) text += (named > 1 ? ", " : "") + name;
  if (missing_.size() > kMaxNamed) text += " and " + std::to_string(missing_.size() - kMaxNamed) + " more";
  text += " (-gsplit-dwarf), is not there or cannot be read";
  if (is_file(path_ + ".dwp")) text += "; nor can " + path_ + ".dwp: files .dwp are not read";
  return text;
}

}  // namespace prof
