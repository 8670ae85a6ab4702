#include "unwind_table.h"

#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "prof/read/file.h"
#include "prof/read/instructions.h"

namespace prof {

namespace {

struct Free {
  void operator()(Dwarf_Frame* frame) const { std::free(frame); }  // NOLINT: libdw gives it away
};

// The image of the vdso in this process, which is that of all others. Its size is that of its sections, whose headers
// are at its end.
std::string vdso() {
  const auto* image = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
  if (!image) return "";
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  return {image, header->e_shoff + size_t(header->e_shnum) * header->e_shentsize};
}

// Whether a library has a function of this name for others.
bool defines(Elf* elf, const std::string& wanted) {
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    GElf_Sym symbol;
    for (int i = 0; data && gelf_getsym(data, i, &symbol); ++i) {
      const char* name = symbol.st_shndx == SHN_UNDEF ? nullptr : elf_strptr(elf, header.sh_link, symbol.st_name);
      if (name && name == wanted) return true;
    }
  }
  return false;
}

UnwindExpression expression(const Dwarf_Op* operations, size_t count) {
  UnwindExpression e;
  for (size_t i = 0; i < count; ++i)
    e.push_back({operations[i].atom, operations[i].number, operations[i].number2, operations[i].offset});
  return e;
}

}  // namespace

UnwindTable::UnwindTable(const std::string& path) {
  elf_version(EV_CURRENT);
  if (path == "[vdso]") {
    static std::string image = vdso();
    elf_ = elf_memory(image.data(), image.size());
  } else {
    fd_ = open_to_read(path);
    if (fd_ >= 0) elf_ = elf_begin(fd_, ELF_C_READ, nullptr);
  }
  GElf_Ehdr header;
  size_t count = 0;
  if (!elf_ || !gelf_getehdr(elf_, &header) || header.e_machine != EM_X86_64 || elf_getphdrnum(elf_, &count) != 0)
    return;
  entry_ = header.e_entry;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_, int(i), &segment) && segment.p_type == PT_LOAD && (segment.p_flags & PF_X))
      segments_.push_back({segment.p_vaddr, segment.p_offset, segment.p_filesz});
  }
  if (header.e_type == ET_DYN && defines(elf_, "_profin"))
    runtime_.size = UINT64_MAX;  // all of it
  else
    runtime_ = section_named(elf_, ".prof.runtime");
  tables_ = dwarf_getcfi_elf(elf_);
}

UnwindTable::Segment UnwindTable::section_named(Elf* elf, std::string_view wanted) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return {};
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    const char* name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : nullptr;
    if (name && name == wanted) return {header.sh_addr, header.sh_offset, header.sh_size};
  }
  return {};
}

UnwindTable::~UnwindTable() {
  if (tables_) dwarf_cfi_end(tables_);
  if (elf_) elf_end(elf_);
  if (fd_ >= 0) close(fd_);
}

std::optional<uint64_t> UnwindTable::address_of(uint64_t offset) const {
  for (const Segment& s : segments_)
    if (offset >= s.offset && offset - s.offset < s.size) return s.address + (offset - s.offset);
  return {};
}

std::optional<UnwindRule> UnwindTable::read_rule(uint64_t address) const {
  Dwarf_Frame* found = nullptr;
  if (!tables_ || dwarf_cfi_addrframe(tables_, address, &found) != 0) return {};
  const std::unique_ptr<Dwarf_Frame, Free> frame(found);
  UnwindRule rule;
  if (dwarf_frame_info(frame.get(), nullptr, nullptr, &rule.is_signal_frame) != kReturnAddress) return {};
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  if (dwarf_frame_cfa(frame.get(), &operations, &count) != 0) return {};
  rule.cfa = expression(operations, count);
  for (uint8_t r = 0; r < kRegisters; ++r) {
    Dwarf_Op memory[3];
    if (dwarf_frame_register(frame.get(), r, memory, &operations, &count) != 0) return {};
    if (count == 0) {
      // No operations in `memory` are an undefined register, none at all an unchanged one.
      if (r == kReturnAddress) rule.is_outermost = operations != nullptr;
      continue;
    }
    RegisterRule& place = rule.registers.emplace_back();
    place.number = r;
    place.value = expression(operations, count);
    if (place.value.back().atom == DW_OP_stack_value) {
      place.is_address = false;
      place.value.pop_back();
    }
  }
  // Without a rule for the return address there is no way on.
  if (!rule.is_outermost && (rule.registers.empty() || rule.registers.back().number != kReturnAddress)) return {};
  return rule;
}

const UnwindRule* UnwindTable::rule(uint64_t offset) {
  const auto [at, is_new] = known_.try_emplace(offset, nullptr);
  if (!is_new) return at->second;
  const std::optional<uint64_t> address = address_of(offset);
  std::optional<UnwindRule> rule = address ? read_rule(*address) : std::nullopt;
  if (rule) at->second = &*rules_.insert(std::move(*rule)).first;
  return at->second;
}

bool UnwindTable::is_entry(uint64_t offset) const {
  constexpr uint64_t kMaxBytes = 64;  // more than it takes to call the first function
  const std::optional<uint64_t> address = address_of(offset);
  return address && entry_ != 0 && *address >= entry_ && *address - entry_ < kMaxBytes;
}

std::string UnwindTable::bytes_at(uint64_t offset, uint64_t size) const {
  std::string bytes(size, '\0');
  const ssize_t n = fd_ < 0 ? 0 : pread(fd_, bytes.data(), size, off_t(offset));
  bytes.resize(n > 0 ? size_t(n) : 0);
  return bytes;
}

bool UnwindTable::ends_function(uint64_t offset) const {
  constexpr uint64_t kMaxBytes = 64;
  for (const Instruction& i : decode_instructions(bytes_at(offset, kMaxBytes), offset)) {
    if (i.transfer == Transfer::ret || i.transfer == Transfer::jump || i.transfer == Transfer::jump_indirect)
      return true;
    if (!i.is_known || !i.only_moves) return false;
  }
  return false;
}

}  // namespace prof
