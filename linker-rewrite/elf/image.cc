#include "image.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "libprof/format/map.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/refusal.h"

namespace profld {

namespace {

constexpr const char* kTruncated = "truncated: the file ends before what its headers promise; use an intact file";

std::string system_error(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

// Closes the file at the end of the scope.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {  // a pipe is refused below, not waited for
    if (fd_ < 0) throw Error(system_error("cannot be opened"));
  }
  ~OpenFile() { ::close(fd_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

// A file's bytes in memory. They are mapped, not read: bytes that are not looked at cost nothing. (If another process
// truncates the file, we get SIGBUS, as linkers do. Nothing is written yet by then.)
struct FileBytes {
  std::shared_ptr<const void> owner;
  ByteView bytes;
};

FileBytes map_file(const std::string& path) {
  const OpenFile file(path);
  struct stat st {};
  if (::fstat(file.get(), &st) != 0 || !S_ISREG(st.st_mode)) throw Error("not a regular file; name an ELF program");
  if (st.st_mode & (S_ISUID | S_ISGID)) throw refusal(Refusal::set_user_id);
  if (::fgetxattr(file.get(), "security.capability", nullptr, 0) >= 0) throw refusal(Refusal::file_capabilities);
  const size_t size = size_t(st.st_size);
  if (size == 0) return {};
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) throw Error(system_error("cannot be mapped"));
  return {std::shared_ptr<const void>(start, [size](const void* p) { ::munmap(const_cast<void*>(p), size); }),
          ByteView(static_cast<const uint8_t*>(start), size)};
}

// libelf's handle on the bytes, closed at the end of the scope.
class ElfHandle {
 public:
  explicit ElfHandle(ByteView file) {
    elf_version(EV_CURRENT);
    // elf_memory only reads the bytes, as we use it, though its parameter is not const.
    elf_ = elf_memory(const_cast<char*>(reinterpret_cast<const char*>(file.data())), file.size());
    if (!elf_) throw Error(kTruncated);
  }
  ~ElfHandle() { elf_end(elf_); }
  ElfHandle(const ElfHandle&) = delete;
  ElfHandle& operator=(const ElfHandle&) = delete;
  Elf* get() const { return elf_; }

 private:
  Elf* elf_;
};

// The first section header describes no section. It holds counts that are too large for the file's header. System V
// ABI, "Sections", on index 0.
GElf_Shdr counts_of(const GElf_Shdr& h) {
  GElf_Shdr kept{};
  kept.sh_size = h.sh_size;
  kept.sh_link = h.sh_link;
  kept.sh_info = h.sh_info;
  return kept;
}

bool inside(uint64_t offset, uint64_t size, uint64_t total) { return offset <= total && size <= total - offset; }

constexpr uint64_t kPageSize = 4096;
constexpr uint64_t kMaxAddress = uint64_t(1) << 47;  // of programs, with page tables of four levels

// How many bytes of the file, with the zeros after its end, its segments have: memory is mapped by pages, and the last
// one is filled up with zeros. So a file may end before its last segment does.
size_t size_with_zeros(ByteView file) {
  Elf64_Ehdr header;
  if (file.size() < sizeof header) return file.size();
  std::memcpy(&header, file.data(), sizeof header);
  const uint64_t most = align_up(file.size(), kPageSize);
  uint64_t size = file.size();
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr s;
    const uint64_t skipped = uint64_t(i) * sizeof s;
    if (!inside(header.e_phoff, skipped + sizeof s, file.size())) break;
    std::memcpy(&s, file.data() + header.e_phoff + skipped, sizeof s);
    if (s.p_type == PT_LOAD && inside(s.p_offset, s.p_filesz, most)) size = std::max(size, s.p_offset + s.p_filesz);
  }
  return size;
}

}  // namespace

Image Image::open(const std::string& path) {
  const FileBytes file = map_file(path);
  // Those zeros are in our mapping, too.
  Image image(file.owner, ByteView(file.bytes.data(), size_with_zeros(file.bytes)));
  image.mapped_ = true;
  return image;
}

void Image::release() const {
  // This has no effect on the bytes, so it does not matter whether it fails.
  if (mapped_) ::madvise(const_cast<void*>(owner_.get()), file_.size(), MADV_DONTNEED);
}

Image Image::from_bytes(Bytes file) {
  file.resize(size_with_zeros(file));
  const auto owner = std::make_shared<const Bytes>(std::move(file));
  return Image(owner, *owner);
}

Image::Image(std::shared_ptr<const void> owner, ByteView file) : owner_(std::move(owner)), file_(file) {
  const ByteView f = file_;
  if (f.size() < SELFMAG || std::memcmp(f.data(), ELFMAG, SELFMAG) != 0) throw refusal(Refusal::not_elf);
  if (f.size() < EI_NIDENT) throw Error(kTruncated);
  if (f[EI_CLASS] != ELFCLASS64 || f[EI_DATA] != ELFDATA2LSB) throw refusal(Refusal::not_64_bit);
  if (f.size() < sizeof(Elf64_Ehdr)) throw Error(kTruncated);
  std::memcpy(&header_, f.data(), sizeof header_);
  if (header_.e_machine != EM_X86_64) throw refusal(Refusal::not_x86_64);
  if (header_.e_type != ET_EXEC && header_.e_type != ET_DYN) throw refusal(Refusal::not_linked);
  read_segments();
  read_sections();
  find_code();
  read_dynamic();
  read_symbols();
  read_relocations();
  sort_relocations();
}

void Image::read_segments() {
  if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum == 0)
    throw Error("no program headers: not a program that can run; name a linked program");
  if (!inside(header_.e_phoff, uint64_t(header_.e_phnum) * sizeof(Elf64_Phdr), file_.size())) throw Error(kTruncated);
  segments_.resize(header_.e_phnum);
  std::memcpy(segments_.data(), file_.data() + header_.e_phoff, segments_.size() * sizeof(Elf64_Phdr));

  bool first = true;
  for (const Elf64_Phdr& s : segments_) {
    if (s.p_type == PT_NULL || s.p_type == PT_GNU_STACK) continue;
    if (s.p_filesz != 0 && !inside(s.p_offset, s.p_filesz, file_.size())) throw Error(kTruncated);
    if (s.p_type != PT_LOAD || (s.p_filesz == 0 && s.p_memsz == 0)) continue;  // nothing is mapped for an empty one
    if (s.p_filesz > s.p_memsz || !inside(s.p_vaddr, s.p_memsz, kMaxAddress))
      throw Error(
          "damaged program headers: a segment is larger in the file than in memory, or lies out of range; use an "
          "intact file");
    if (!first && s.p_vaddr < span_.end.value)
      throw Error("damaged program headers: segments overlap or are not in order; use an intact file");
    if (first) span_.start = OldAddr(s.p_vaddr);
    span_.end = OldAddr(s.p_vaddr + s.p_memsz);
    first = false;
  }
  if (first) throw Error("no loadable segment: not a program that can run; name a linked program");

  for (auto s = segments_.begin(); s != segments_.end(); ++s) {
    if (s->p_type != PT_LOAD || s->p_filesz == 0) continue;
    uint64_t end = s->p_filesz;
    for (auto next = s + 1; next != segments_.end(); ++next)
      if (next->p_type == PT_LOAD && next->p_vaddr == s->p_vaddr + end && next->p_offset == s->p_offset + end)
        end += next->p_filesz;
    loaded_.push_back({s->p_vaddr, s->p_filesz, file_.subspan(s->p_offset, end)});
  }

  bool interpreter = segment(PT_INTERP) != nullptr;
  if (header_.e_type == ET_EXEC)
    link_type_ = interpreter || segment(PT_DYNAMIC) ? LinkType::non_pie : LinkType::static_non_pie;
  else
    link_type_ = interpreter ? LinkType::pie : LinkType::shared_library;  // static PIEs: see read_dynamic
}

void Image::read_sections() {
  if (header_.e_shoff == 0) return;
  // libelf treats a table that is cut off as if there was none.
  const uint64_t promised = std::max<uint64_t>(header_.e_shnum, 1) * sizeof(Elf64_Shdr);
  if (!inside(header_.e_shoff, promised, file_.size())) return;
  ElfHandle elf(file_);
  size_t count = 0, names = 0;
  if (elf_getshdrnum(elf.get(), &count) != 0 || !inside(header_.e_shoff, count * sizeof(Elf64_Shdr), file_.size()))
    return;
  if (elf_getshdrstrndx(elf.get(), &names) != 0) names = 0;
  for (size_t i = 0; i < count; ++i) {
    Elf_Scn* scn = elf_getscn(elf.get(), i);
    GElf_Shdr h;
    if (!scn || !gelf_getshdr(scn, &h)) return sections_.clear();
    if (i == 0)
      h = counts_of(h);
    else if (h.sh_type == SHT_NULL)
      h = {};  // no section either, and none of its other fields has a meaning
    if (h.sh_type != SHT_NOBITS && h.sh_type != SHT_NULL && !inside(h.sh_offset, h.sh_size, file_.size()))
      return sections_.clear();
    const char* name = names && h.sh_type != SHT_NULL ? elf_strptr(elf.get(), names, h.sh_name) : nullptr;
    sections_.push_back({unsigned(i), name ? name : "", h});
  }
}

void Image::find_code() {
  std::vector<OldRange> data;
  for (const Section& s : sections_)
    if ((s.header.sh_flags & SHF_ALLOC) && !(s.header.sh_flags & SHF_EXECINSTR) && s.header.sh_type != SHT_NOBITS)
      data.push_back({OldAddr(s.header.sh_addr), OldAddr(s.header.sh_addr) + s.header.sh_size});
  std::ranges::sort(data, {}, &OldRange::start);
  for (const Elf64_Phdr& s : segments_) {
    if (s.p_type != PT_LOAD || !(s.p_flags & PF_X)) continue;
    OldAddr at(s.p_vaddr);
    const OldAddr end(s.p_vaddr + s.p_filesz);
    for (OldRange d : data) {
      if (d.end <= at || d.start >= end || d.end <= d.start) continue;
      if (d.start > at) code_.push_back({at, d.start});
      at = d.end;
    }
    if (at < end) code_.push_back({at, end});
  }
}

void Image::read_dynamic() {
  const Elf64_Phdr* d = segment(PT_DYNAMIC);
  if (!d || d->p_filesz == 0) return;
  Reader r(file_.subspan(d->p_offset, d->p_filesz), "dynamic section");
  while (r.remaining() >= sizeof(Elf64_Dyn)) {
    auto entry = r.read<Elf64_Dyn>();
    if (entry.d_tag == DT_NULL) break;
    dynamic_.push_back(entry);
  }
  // A static PIE has a dynamic section but asks for no library; a shared library without any is told by DF_1_PIE. Some
  // libraries can be run as well, to say what they are, and name a dynamic linker (glibc's libc.so.6): they are told by
  // the name for other files to need them by.
  const bool is_pie = dynamic_value(DT_FLAGS_1).value_or(0) & DF_1_PIE;
  if (link_type_ == LinkType::shared_library && is_pie) link_type_ = LinkType::static_pie;
  if (link_type_ == LinkType::pie && !is_pie && dynamic_value(DT_SONAME)) link_type_ = LinkType::shared_library;
}

void Image::read_symbols() {
  auto read_table = [&](ByteView symbols, ByteView strings, std::vector<Symbol>& out) {
    Reader r(symbols, "symbol table");
    while (r.remaining() >= sizeof(Elf64_Sym)) {
      auto s = r.read<Elf64_Sym>();
      std::string name;
      if (s.st_name < strings.size()) {
        const char* p = reinterpret_cast<const char*>(strings.data()) + s.st_name;
        name.assign(p, strnlen(p, strings.size() - s.st_name));
      }
      out.push_back({.name = std::move(name),
                     .address = OldAddr(s.st_value),
                     .size = s.st_size,
                     .type = uint8_t(ELF64_ST_TYPE(s.st_info)),
                     .binding = uint8_t(ELF64_ST_BIND(s.st_info)),
                     .section = s.st_shndx});
    }
  };
  for (const Section& s : sections_) {
    if (s.header.sh_type != SHT_SYMTAB && s.header.sh_type != SHT_DYNSYM) continue;
    if (s.header.sh_link >= sections_.size() || s.header.sh_entsize != sizeof(Elf64_Sym)) continue;
    const Elf64_Shdr& strings = sections_[s.header.sh_link].header;
    if (strings.sh_type != SHT_STRTAB) continue;
    read_table(file_.subspan(s.header.sh_offset, s.header.sh_size), file_.subspan(strings.sh_offset, strings.sh_size),
               s.header.sh_type == SHT_SYMTAB ? symbols_ : dynamic_symbols_);
  }
  // Without section headers the dynamic section still tells where its symbols start; where they end, only convention
  // does: the strings follow.
  auto symtab = dynamic_value(DT_SYMTAB), strtab = dynamic_value(DT_STRTAB), strsz = dynamic_value(DT_STRSZ);
  if (dynamic_symbols_.empty() && symtab && strtab && strsz && *symtab < *strtab) {
    auto symbols = bytes(OldAddr(*symtab), *strtab - *symtab);
    auto strings = bytes(OldAddr(*strtab), *strsz);
    if (symbols && strings) read_table(*symbols, *strings, dynamic_symbols_);
  }
}

void Image::append_rela(OldAddr table, uint64_t size) {
  auto view = bytes(table, size);
  auto at = file_offset(table);
  if (!view || !at) throw Error("damaged dynamic section: relocations lie outside the file; use an intact file");
  Reader r(*view, "relocations");
  while (r.remaining() >= sizeof(Elf64_Rela)) {
    FileOffset addend_at = *at + r.position() + offsetof(Elf64_Rela, r_addend);
    auto rela = r.read<Elf64_Rela>();
    relocations_.push_back({.where = OldAddr(rela.r_offset),
                            .type = uint32_t(ELF64_R_TYPE(rela.r_info)),
                            .symbol = uint32_t(ELF64_R_SYM(rela.r_info)),
                            .addend = rela.r_addend,
                            .addend_at = addend_at,
                            .packed = false});
  }
}

void Image::read_relocations() {
  if (dynamic_.empty()) {
    // A static program applies its IRELATIVE relocations itself; only the sections say where they are.
    for (const Section& s : sections_)
      if (s.header.sh_type == SHT_RELA && (s.header.sh_flags & SHF_ALLOC))
        append_rela(OldAddr(s.header.sh_addr), s.header.sh_size);
    return;
  }
  auto rela = dynamic_value(DT_RELA), rela_size = dynamic_value(DT_RELASZ);
  if (rela && rela_size) append_rela(OldAddr(*rela), *rela_size);
  auto plt = dynamic_value(DT_JMPREL), plt_size = dynamic_value(DT_PLTRELSZ);
  if (plt && plt_size && dynamic_value(DT_PLTREL).value_or(DT_RELA) == DT_RELA) {
    // Some linkers count .rela.plt in DT_RELASZ as well.
    bool counted = rela && rela_size && *plt >= *rela && *plt < *rela + *rela_size;
    if (!counted) append_rela(OldAddr(*plt), *plt_size);
  }

  auto relr = dynamic_value(DT_RELR), relr_size = dynamic_value(DT_RELRSZ);
  if (!relr || !relr_size) return;
  auto view = bytes(OldAddr(*relr), *relr_size);
  if (!view) throw Error("damaged dynamic section: packed relocations lie outside the file; use an intact file");
  auto add = [&](OldAddr where) {
    auto word = bytes(where, 8);
    auto at = file_offset(where);
    if (!word || !at) return;  // in bss: the addend is 0
    relocations_.push_back({.where = where,
                            .type = R_X86_64_RELATIVE,
                            .symbol = 0,
                            .addend = Reader(*word, "data").read<int64_t>(),
                            .addend_at = *at,
                            .packed = true});
  };
  // An even entry is the address of a word; an odd one a bitmap of the 63 words that follow (ELF gABI, SHT_RELR).
  Reader r(*view, "packed relocations");
  OldAddr next;
  while (r.remaining() >= 8) {
    uint64_t entry = r.u64();
    if ((entry & 1) == 0) {
      add(OldAddr(entry));
      next = OldAddr(entry + 8);
    } else {
      for (unsigned i = 0; i < 63; ++i)
        if (entry >> (i + 1) & 1) add(next + i * 8);
      next += 63 * 8;
    }
  }
}

void Image::sort_relocations() {
  relocations_by_address_.reserve(relocations_.size());
  for (const Relocation& r : relocations_)
    relocations_by_address_.emplace_back(r.where, uint32_t(relocations_by_address_.size()));
  if (!std::ranges::is_sorted(relocations_by_address_)) parallel_sort(relocations_by_address_);
  if (code_.empty()) return;
  constexpr uint64_t kMax = 8;  // bytes that a relocation changes
  const auto number_before = [&](OldAddr a) {
    const auto it = std::ranges::lower_bound(relocations_by_address_, std::pair(a, uint32_t(0)));
    return size_t(it - relocations_by_address_.begin());
  };
  const OldAddr start = code_.front().start;  // of the whole file, where headers and code are one segment
  before_code_ = number_before(start - std::min(start.value, kMax));
  in_code_ = number_before(code_.back().end) - before_code_;
}

const Relocation* Image::relocation_at(OldAddr where) const {
  const auto first = std::ranges::lower_bound(relocations_by_address_, std::pair(where, uint32_t(0)));
  const bool found = first != relocations_by_address_.end() && first->first == where;
  return found ? &relocations_[first->second] : nullptr;
}

std::span<const std::pair<OldAddr, uint32_t>> Image::relocations_in(OldRange range) const {
  const std::span all(relocations_by_address_.data() + before_code_, in_code_);
  const auto first = std::ranges::lower_bound(all, std::pair(range.start, uint32_t(0)));
  return {first, std::ranges::lower_bound(first, all.end(), std::pair(range.end, uint32_t(0)))};
}

bool Image::has_text_relocations() const {
  return dynamic_value(DT_TEXTREL) || (dynamic_value(DT_FLAGS).value_or(0) & DF_TEXTREL);
}

const Elf64_Phdr* Image::segment(uint32_t type) const {
  auto it = std::ranges::find_if(segments_, [&](const Elf64_Phdr& s) { return s.p_type == type; });
  return it == segments_.end() ? nullptr : &*it;
}

const Section* Image::section(const std::string& name) const {
  auto it = std::ranges::find_if(sections_, [&](const Section& s) { return s.name == name; });
  return it == sections_.end() ? nullptr : &*it;
}

std::optional<uint64_t> Image::dynamic_value(int64_t tag) const {
  for (const Elf64_Dyn& d : dynamic_)
    if (d.d_tag == tag) return d.d_un.d_val;
  return std::nullopt;
}

ByteView Image::bytes_from(OldAddr address) const {
  for (const Loaded& s : loaded_)
    if (const uint64_t skip = address.value - s.start; skip < s.size) return s.bytes.subspan(skip);
  return {};
}

std::optional<ByteView> Image::bytes(OldAddr address, uint64_t size) const {
  ByteView all = bytes_from(address);
  if (all.size() < size) return std::nullopt;
  return all.first(size);
}

std::optional<FileOffset> Image::file_offset(OldAddr address) const {
  ByteView v = bytes_from(address);
  if (v.empty()) return std::nullopt;
  return FileOffset(uint64_t(v.data() - file_.data()));
}

bool Image::is_code(OldAddr address) const {
  auto after = std::ranges::upper_bound(code_, address, {}, &OldRange::start);
  return after != code_.begin() && std::prev(after)->contains(address);
}

bool Image::is_writable(OldAddr address) const {
  return std::ranges::any_of(segments_, [&](const Elf64_Phdr& s) {
    return s.p_type == PT_LOAD && (s.p_flags & PF_W) && address.value >= s.p_vaddr &&
           address.value - s.p_vaddr < s.p_memsz;
  });
}

Bytes Image::build_id() const {
  Bytes id;
  each_loaded_note(*this, [&](const Note& n) {
    if (n.is_build_id()) id.assign(n.descriptor.begin(), n.descriptor.end());
    return !id.empty();
  });
  return id;
}

void each_loaded_note(const Image& image, const std::function<bool(const Note&)>& f) {
  for (const Elf64_Phdr& s : image.segments())
    if (s.p_type == PT_NOTE && s.p_filesz != 0 &&
        each_note(image.file().subspan(s.p_offset, s.p_filesz), s.p_align == 8 ? 8 : 4, f))
      return;
}

bool is_rewritten(const Image& image) {
  bool found = false;
  each_loaded_note(image, [&](const Note& n) { return found = n.is_from(prof_format::kNoteOwner); });
  return found;
}

}  // namespace profld
