#include "debug_names.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

#include "debug_files.h"

namespace profld {

namespace {

// A debug file cannot run, so it is no Image. libelf checks its own bounds.
class DebugElf {
 public:
  explicit DebugElf(const std::string& path) {
    elf_version(EV_CURRENT);
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ >= 0) elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
  }
  // `bytes` must outlive this object.
  explicit DebugElf(std::string& bytes) {
    elf_version(EV_CURRENT);
    elf_ = elf_memory(bytes.data(), bytes.size());
  }
  DebugElf(const DebugElf&) = delete;
  ~DebugElf() {
    elf_end(elf_);
    if (fd_ >= 0) close(fd_);
  }

  bool is_elf() const { return elf_ && elf_kind(elf_) == ELF_K_ELF && gelf_getclass(elf_) == ELFCLASS64; }

  std::string build_id() const {
    std::string id;
    each_section(SHT_NOTE, [&](Elf_Scn* section, const GElf_Shdr& header) {
      const Elf_Data* data = elf_rawdata(section, nullptr);
      if (!data || !data->d_buf) return;
      each_note({static_cast<const uint8_t*>(data->d_buf), data->d_size}, header.sh_addralign == 8 ? 8 : 4,
                [&](const Note& note) {
                  if (note.is_build_id()) id.assign(note.descriptor.begin(), note.descriptor.end());
                  return note.is_build_id();
                });
    });
    return id;
  }

  DebugNames names() const {
    DebugNames found;
    each_section(SHT_SYMTAB, [&](Elf_Scn* section, const GElf_Shdr& header) {
      Elf_Data* data = elf_getdata(section, nullptr);
      if (!data || header.sh_entsize != sizeof(Elf64_Sym)) return;
      const size_t count = data->d_size / sizeof(Elf64_Sym);
      for (size_t i = 0; i < count; ++i) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, int(i), &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
        const char* name = elf_strptr(elf_, header.sh_link, symbol.st_name);
        if (name && *name) found[OldAddr(symbol.st_value)].emplace_back(name);
      }
    });
    return found;
  }

 private:
  template <class F>
  void each_section(uint32_t type, F f) const {
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      GElf_Shdr header;
      if (gelf_getshdr(section, &header) && header.sh_type == type) f(section, header);
    }
  }

  int fd_ = -1;
  Elf* elf_ = nullptr;
};

std::string_view bytes_of_section(const Image& image, const char* name) {
  const Section* section = image.section(name);
  if (!section || section->header.sh_type == SHT_NOBITS) return {};
  const uint64_t offset = section->header.sh_offset, size = section->header.sh_size;
  if (offset > image.file().size() || size > image.file().size() - offset) return {};
  return {reinterpret_cast<const char*>(image.file().data()) + offset, size};
}

bool is_debug_file_of(const DebugElf& found, const DebugLink& link, const DebugFilePlace& place) {
  if (!found.is_elf()) return false;
  const std::string id = found.build_id();
  if (!link.build_id.empty() && !id.empty()) return id == link.build_id;
  return place.is_by_name && has_crc(place.path, link.crc);
}

}  // namespace

DebugNames read_debug_names(const Image& image, const std::string& path, const std::vector<std::string>& folders) {
  if (!image.symbols().empty()) return {};
  DebugLink link;
  const Bytes id = image.build_id();
  link.build_id.assign(id.begin(), id.end());
  read_debuglink(bytes_of_section(image, ".gnu_debuglink"), link);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  for (const DebugFilePlace& place : places_of_debug_file(link, folders, {folder.empty() ? "." : folder})) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(place.path, error)) continue;
    const DebugElf found(place.path);
    if (!is_debug_file_of(found, link, place)) continue;
    DebugNames names = found.names();
    if (!names.empty()) return names;
  }
  std::optional<std::string> symbols = unpack_xz(bytes_of_section(image, ".gnu_debugdata"));
  if (!symbols) return {};
  const DebugElf packed(*symbols);
  return packed.is_elf() ? packed.names() : DebugNames();
}

}  // namespace profld
