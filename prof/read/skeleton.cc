#include "skeleton.h"

#include <gelf.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_set>

#include "error.h"
#include "file.h"
#include "libprof/format/blocks.h"
#include "libprof/format/coverage.h"

namespace prof {

namespace {

constexpr uint64_t kMax = uint64_t(1) << 30;  // bytes of a skeleton that is read
constexpr uint64_t kMaxPacked = 1032;         // what zlib's format can make of one byte

std::string_view view_of(const Elf_Data* data) {
  return data && data->d_buf ? std::string_view(static_cast<const char*>(data->d_buf), data->d_size)
                             : std::string_view();
}

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Puts a skeleton together: the header, the program headers, bytes of all kinds, the section headers.
class Builder {
 public:
  explicit Builder(Elf* elf) : elf_(elf) {}

  std::string build() {
    read_sections();
    read_segments();
    bytes_.assign(sizeof(Elf64_Ehdr) + segment_count() * sizeof(Elf64_Phdr), '\0');
    place_sections();
    place_segments();
    write_header();
    return std::move(bytes_);
  }

 private:
  struct Section {
    Elf_Scn* section = nullptr;
    std::string name;
    GElf_Shdr header{};
  };

  static bool has_type_to_keep(const GElf_Shdr& header) {
    return header.sh_type == SHT_NOTE || header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM ||
           header.sh_type == SHT_GNU_versym;
  }

  static bool has_name_to_keep(const std::string& name) {
    for (const char* kept : {prof_format::kMapSection, prof_format::kStepsSection, prof_format::kLoopsSection,
                             prof_format::kImportsSection, prof_format::kBlocksSection, prof_format::kCoverageSection,
                             ".gnu_debuglink", ".gnu_debugdata", ".debug_info"})
      if (name == kept) return true;
    return false;
  }

  static bool has_type_to_keep(const GElf_Phdr& header) {
    return header.p_type == PT_INTERP || header.p_type == PT_DYNAMIC || header.p_type == PT_NOTE ||
           header.p_type == PT_GNU_EH_FRAME;
  }

  // Sections keep their order, in which symbols are read.
  void read_sections() {
    size_t names = 0;
    if (elf_getshdrstrndx(elf_, &names) != 0) return;
    std::unordered_set<size_t> strings;  // of tables of symbols
    std::vector<Section> all(1);
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
      Section s{section, "", {}};
      if (!gelf_getshdr(section, &s.header)) s.header = {};
      const char* name = elf_strptr(elf_, names, s.header.sh_name);
      s.name = name ? name : "";
      if (s.header.sh_type == SHT_SYMTAB || s.header.sh_type == SHT_DYNSYM) strings.insert(s.header.sh_link);
      all.push_back(std::move(s));
    }
    sections_.resize(1);
    for (size_t i = 1; i < all.size(); ++i) {
      if (!has_type_to_keep(all[i].header) && !has_name_to_keep(all[i].name) && !strings.contains(i)) continue;
      new_index_[i] = uint32_t(sections_.size());
      sections_.push_back(std::move(all[i]));
    }
  }

  void read_segments() {
    size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0) return;
    for (size_t i = 0; i < count; ++i) {
      GElf_Phdr header;
      if (!gelf_getphdr(elf_, int(i), &header)) continue;
      if (header.p_type == PT_LOAD) loaded_.push_back(header);
      if (header.p_type == PT_LOAD && (header.p_flags & PF_X)) code_.push_back(header);
      if (has_type_to_keep(header)) segments_.push_back(header);
    }
    for (const GElf_Phdr& header : segments_)
      if (header.p_type == PT_DYNAMIC) find_strings(chunk(header.p_offset, header.p_filesz));
  }

  // Where the strings of the dynamic section are.
  void find_strings(std::string_view dynamic) {
    uint64_t address = 0, size = 0;
    for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.size(); at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn entry;
      std::memcpy(&entry, dynamic.data() + at, sizeof entry);
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_STRTAB) address = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) size = entry.d_un.d_val;
    }
    for (const GElf_Phdr& header : loaded_)
      if (address - header.p_vaddr < header.p_filesz)
        strings_ = {address, chunk(header.p_offset + (address - header.p_vaddr), size)};
  }

  std::string_view chunk(uint64_t offset, uint64_t size) const {
    return view_of(elf_getdata_rawchunk(elf_, int64_t(offset), size, ELF_T_BYTE));
  }

  size_t segment_count() const { return code_.size() + segments_.size() + (strings_.bytes.empty() ? 0 : 1); }

  // Appends bytes, and returns where they are.
  uint64_t place(std::string_view bytes) {
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    const uint64_t at = bytes_.size();
    bytes_.append(bytes);
    return at;
  }

  void place_sections() {
    std::string names(1, '\0');
    auto name = [&](Section& section) {
      section.header.sh_name = uint32_t(names.size());
      names.append(section.name.c_str(), section.name.size() + 1);
    };
    for (size_t i = 1; i < sections_.size(); ++i) {
      Section& s = sections_[i];
      if (s.name == ".debug_info") s.header.sh_type = SHT_NOBITS;
      if (s.header.sh_type != SHT_NOBITS) {
        const std::string_view bytes = view_of(elf_rawdata(s.section, nullptr));
        s.header.sh_offset = place(bytes);
        s.header.sh_size = bytes.size();
      }
      const auto linked = new_index_.find(s.header.sh_link);
      s.header.sh_link = linked != new_index_.end() ? linked->second : 0;
      name(s);
    }
    Section last{nullptr, ".shstrtab", {}};
    name(last);
    last.header.sh_type = SHT_STRTAB;
    last.header.sh_offset = place(names);
    last.header.sh_size = names.size();
    sections_.push_back(std::move(last));
  }

  void place_segments() {
    std::vector<GElf_Phdr> all = code_;
    for (GElf_Phdr header : segments_) {
      const std::string_view bytes = chunk(header.p_offset, header.p_filesz);
      header.p_offset = place(bytes);
      header.p_filesz = bytes.size();
      all.push_back(header);
    }
    if (!strings_.bytes.empty()) {
      GElf_Phdr header{};
      header.p_type = PT_LOAD;
      header.p_flags = PF_R;
      header.p_offset = place_strings();
      header.p_vaddr = header.p_paddr = strings_.address;
      header.p_filesz = header.p_memsz = strings_.bytes.size();
      all.push_back(header);
    }
    for (size_t i = 0; i < all.size(); ++i)
      bytes_.replace(sizeof(Elf64_Ehdr) + i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr), bytes_of(all[i]));
  }

  // Mostly they are those of .dynsym as well, and are there already.
  uint64_t place_strings() {
    for (const Section& s : sections_)
      if (s.header.sh_type == SHT_STRTAB && s.header.sh_addr == strings_.address &&
          s.header.sh_size >= strings_.bytes.size())
        return s.header.sh_offset;
    return place(strings_.bytes);
  }

  void write_header() {
    Elf64_Ehdr header{};
    GElf_Ehdr old;
    if (gelf_getehdr(elf_, &old)) header = old;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = uint16_t(segment_count());
    header.e_shoff = place("");
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = uint16_t(sections_.size());
    header.e_shstrndx = uint16_t(sections_.size() - 1);
    for (const Section& s : sections_) bytes_.append(bytes_of(s.header));
    bytes_.replace(0, sizeof header, bytes_of(header));
  }

  Elf* elf_;
  std::vector<Section> sections_ = std::vector<Section>(1);
  std::map<size_t, uint32_t> new_index_;  // of sections, by their old one
  std::vector<GElf_Phdr> loaded_, code_, segments_;
  struct {
    uint64_t address = 0;
    std::string_view bytes;
  } strings_;  // of the dynamic section
  std::string bytes_;
};

// None if it is damaged.
std::optional<ElfFile> read_skeleton(const SkeletonPlace& place, const std::string& path) {
  try {
    const Descriptor file(open_to_read(place.profile));
    std::string packed(place.packed_size, '\0'), bytes(place.size, '\0');
    if (read_at(file.get(), packed.data(), packed.size(), place.offset, place.profile) != packed.size()) return {};
    uLongf size = bytes.size();
    if (uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(packed.data()),
                   packed.size()) != Z_OK ||
        size != bytes.size())
      return {};
    return ElfFile(path, std::move(bytes));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

std::string skeleton_of(const ElfFile& file) { return Builder(file.elf()).build(); }

PackedSkeleton packed_skeleton_of(const ElfFile& file) {
  const std::string skeleton = skeleton_of(file);
  PackedSkeleton packed{"", skeleton.size()};
  // What is packed best takes four times as long, and 2 s of cc1plus, to become a twelfth smaller.
  uLongf size = compressBound(skeleton.size());
  packed.bytes.resize(size);
  if (compress2(reinterpret_cast<Bytef*>(packed.bytes.data()), &size, reinterpret_cast<const Bytef*>(skeleton.data()),
                skeleton.size(), Z_BEST_SPEED) != Z_OK)
    throw Error(file.path() +
                ": no memory to pack its symbols, so they are not in the profile; keep the file, from which prof takes "
                "them then");
  packed.bytes.resize(size);
  return packed;
}

void find_skeletons(const Snapshot& snapshot, std::vector<Module>& modules) {
  std::unordered_set<Block> seen;
  for (Block b = snapshot.header().first_skeleton; b != 0 && seen.insert(b).second && seen.size() <= modules.size();) {
    prof_format::Skeleton skeleton;
    const uint64_t at = uint64_t(b) * PROF_BLOCK_SIZE, bytes = at + sizeof skeleton;
    char last;
    if (at < snapshot.header().header_size ||
        snapshot.read_after_blocks(&skeleton, sizeof skeleton, at) < sizeof skeleton)
      return;
    const uint64_t packed = skeleton.packed_size;
    if (packed == 0 || packed > kMax || skeleton.size > std::min(kMax, packed * kMaxPacked) ||
        snapshot.read_after_blocks(&last, 1, bytes + packed - 1) < 1)
      return;
    for (Module& module : modules)
      if (module.block == skeleton.module) module.skeleton = {snapshot.path(), bytes, packed, skeleton.size};
    b = skeleton.next;
  }
}

ElfFile file_of(const Module& module) {
  std::optional<ElfFile> file;
  std::string problem;
  try {
    file.emplace(module.path);
    if (!module.skeleton || may_be_same(file->build_id(), module.build_id)) return std::move(*file);
  } catch (const Error& e) {
    problem = e.what();
  }
  if (module.skeleton) {
    if (std::optional<ElfFile> kept = read_skeleton(*module.skeleton, module.path)) return std::move(*kept);
    problem += ", and what " + module.skeleton->profile + " has of it is damaged";
  }
  if (file) return std::move(*file);
  throw Error(problem);
}

}  // namespace prof
