// The kernel begins the heap (brk) after the last segment, at random, or immediately after it if a program has asked
// for no randomization (ADDR_NO_RANDOMIZE of personality(2)) and has started itself anew. Systems that dump their heap
// into their file, GNU Common Lisp above all, do that, and take what they find from the end of their data on for their
// heap. In a copy the new segments are there, and what is written to them ends the program. So they are laid in front
// of the original's (write/segment.cc). That can be done with fixed addresses only, if these begin high enough; else
// the program is refused. It is not done for all programs: in front there is less room, and no need.
//
// The C library's malloc takes the break wherever it is (sbrk). So a program is told by all of these, or it is not
// meant:
//
//   * it may call personality, start a program, and ask for the break: it imports the functions, or, if it is static,
//     has the system calls;
//   * it takes an address right after its data, up to a page farther (`(end + 4095) & ~4095`); or the linker has
//     defined the symbol `end`, which it does where one is used; or its data ends in the file, without .bss, as after a
//     dump. Then the code may have the address from before.
//
// The end of the last array in .bss is such an address, too. It is not told apart: to take a program for one of these
// costs less than not to.
//
// A static program of glibc's has the address of its end in any case. There, if it is stripped, only one that is
// rounded up counts.

#include <sys/syscall.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <string_view>

#include "code_dependences.h"
#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/x86/decode_cache.h"
#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/system_calls.h"

namespace profld {

namespace {

constexpr uint64_t kPageSize = 4096;

// Whether an instruction of the program's functions is one that `is_wanted` says so of, by its code and its index.
template <class IsWanted>
bool any_of_code(const Program& program, IsWanted is_wanted) {
  std::atomic<bool> found = false;
  parallel_for(program.groups.size(), [&](size_t g) {
    if (found) return;
    for (const Code& code : program.groups[g].code.parts)
      for (size_t i = 0; i < code.insns.size(); ++i)
        if (is_wanted(code, i)) found = true;
  });
  return found;
}

bool imports_one(const Image& image, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(image.dynamic_symbols(), [&](const Symbol& s) {
    return s.section == SHN_UNDEF && std::ranges::find(names, s.name) != names.end();
  });
}

bool makes_one(const Program& program, std::initializer_list<int64_t> numbers) {
  return any_of_code(program, [&](const Code& code, size_t i) {
    return is_system_call(code.bytes_of(code.insns[i])) &&
           std::ranges::find(numbers, system_call_number(code, i)) != numbers.end();
  });
}

bool may_move_its_heap(const Program& program) {
  const Image& image = *program.image;
  if (image.is_static())
    return makes_one(program, {SYS_personality}) && makes_one(program, {SYS_execve, SYS_execveat}) &&
           makes_one(program, {SYS_brk});
  return imports_one(image, {"personality"}) && imports_one(image, {"sbrk", "brk"}) &&
         imports_one(image,
                     {"execl", "execle", "execlp", "execv", "execve", "execveat", "execvp", "execvpe", "fexecve"});
}

const Elf64_Phdr& last_segment(const Image& image) {
  const Elf64_Phdr* last = &image.segments().front();
  for (const Elf64_Phdr& s : image.segments())
    if (s.p_type == PT_LOAD && s.p_memsz != 0) last = &s;  // there is one: Image
  return *last;
}

bool takes_address_after_data(const Program& program) {
  const Image& image = *program.image;
  const OldAddr end = image.span().end;
  if (std::ranges::any_of(image.symbols(), [&](const Symbol& s) { return s.name == "end" && s.address == end; }))
    return true;
  const OldAddr first = end + (image.is_static() ? 1 : 0);
  const auto is_after_data = [&](OldAddr a) { return first <= a && a <= end + kPageSize; };
  for (const Relocation& r : image.relocations()) {
    const bool has_symbol = r.symbol != 0 && r.symbol < image.dynamic_symbols().size();
    const Symbol* symbol = has_symbol ? &image.dynamic_symbols()[r.symbol] : nullptr;
    if (symbol ? symbol->section != SHN_UNDEF && is_after_data(symbol->address)
               : is_after_data(OldAddr(uint64_t(r.addend))))
      return true;
  }
  return any_of_code(program, [&](const Code& code, size_t i) {
    const Insn& insn = code.insns[i];
    if (insn.rip_relative) return takes_address(code, insn) && is_after_data(code.target(insn));
    if (image.is_position_independent() || insn.flow != Flow::next) return false;
    const ByteView bytes = code.bytes_of(insn);
    const CachedInsn* cached = DecodeCache::of_this_thread().find(bytes);
    const auto is_address = [&](const NumberField& n) {
      return n.size == 4 && is_after_data(OldAddr(uint32_t(n.read(bytes.data()))));
    };
    return cached && (is_address(cached->immediate) || is_address(cached->displacement));
  });
}

}  // namespace

bool takes_heap_after_data(const Program& program) {
  const Image& image = *program.image;
  if (image.link_type() == LinkType::shared_library || !may_move_its_heap(program)) return false;
  const Elf64_Phdr& last = last_segment(image);
  return ((last.p_flags & PF_W) && last.p_filesz == last.p_memsz) || takes_address_after_data(program);
}

}  // namespace profld
