// A static program has no dynamic linker, so the runtime's image is made part of it: the loadable segments of
// libprof.so, at new addresses that keep their mutual distance. Its code finds its own data relative to itself, as any
// library's does. Relocations that depend on where the program is loaded (RELATIVE) are left to the runtime's start-up
// code, `_profstart`, which runs before the program's entry. Those that depend on the place of its thread-local storage
// (TPOFF64) are done here.
//
// The file contains .bss as zeros, because other segments follow: kernels have had bugs with a .bss that is not last.

#include "runtime.h"

#include <algorithm>
#include <cstring>

namespace profld {

namespace {

bool is_loaded(const Elf64_Phdr& s) { return s.p_type == PT_LOAD && s.p_memsz != 0; }

// `what` without the advice that messages on programs end with.
Error unusable(const std::string& path, const std::string& what) {
  return Error("the runtime library " + path + " cannot be used (" + what.substr(0, what.find(';')) +
               "); install profld again, or name another with --libprof");
}

Image open_runtime(const std::string& path) {
  try {
    return Image::open(path);
  } catch (const Error& e) {
    throw unusable(path, e.what());
  }
}

}  // namespace

Runtime::Runtime(const std::string& path) : path_(path), image_(open_runtime(path)) {
  for (const char* name :
       {"_profin", "_profout", "_profhooks", "_profstart", "_proftask", "_profentry", "_profdoubt", "_profunhooked"})
    address(name);
  if (!image_.segment(PT_TLS) || tls().p_filesz != 0) throw unusable(path, "it has no thread-local word");
  // Symbols that it would find in the C library, if there were one, are 0.
  auto is_optional = [&](const Relocation& r) {
    const std::vector<Symbol>& symbols = image_.dynamic_symbols();
    return r.type == R_X86_64_GLOB_DAT && r.symbol < symbols.size() && symbols[r.symbol].section == SHN_UNDEF &&
           symbols[r.symbol].binding == STB_WEAK;
  };
  for (const Relocation& r : image_.relocations())
    if (r.type != R_X86_64_RELATIVE && r.type != R_X86_64_TPOFF64 && !is_optional(r))
      throw unusable(path, "it depends on another library");
}

NewAddr Runtime::address(const std::string& name) const {
  for (const Symbol& s : image_.dynamic_symbols())
    if (s.name == name && s.section != SHN_UNDEF) return placed(s.address.value);
  throw unusable(path_, "it is of another version, without " + name);
}

bool Runtime::begins_threads() const {
  return std::ranges::any_of(image_.dynamic_symbols(), [](const Symbol& s) {
    return s.name == "libprof_records_addresses" && s.section != SHN_UNDEF;
  });
}

const Elf64_Phdr& Runtime::tls() const { return *image_.segment(PT_TLS); }

size_t Runtime::segment_count() const { return size_t(std::ranges::count_if(image_.segments(), is_loaded)); }

void Runtime::place(NewAddr start) {
  // Whole pages, so that addresses agree with those in libprof.so modulo the page size.
  base_ = start - (image_.span().start.value & ~(kPage - 1));
  for (const Elf64_Phdr& s : image_.segments()) {
    if (!is_loaded(s)) continue;
    NewAddr at = placed(s.p_vaddr);
    if (!segments_.empty() && at.value / kPage <= (segments_.back().end().value - 1) / kPage)
      throw unusable(path_, "its segments share a page");
    Segment& segment = segments_.emplace_back(s.p_flags, at);
    segment.reserve(s.p_memsz, 1);
    segment.write(at, mapped_bytes(image_, image_.file(), OldAddr(s.p_vaddr), s.p_filesz, "runtime"));
  }
  if (segments_.empty() || !(segments_.back().flags() & PF_W))
    throw unusable(path_, "its last segment is not writable");
}

void Runtime::put_word(NewAddr at, uint64_t value) {
  auto it = std::ranges::find_if(segments_, [&](const Segment& s) { return at >= s.start() && at < s.end(); });
  if (it == segments_.end()) throw unusable(path_, "it is damaged");
  Bytes word;
  append(word, value);
  it->write(at, word);
}

void Runtime::write(OldAddr program_entry, int64_t tls_offset, bool is_thread_pointer_doubtful, bool has_hooks,
                    SectionEdits& edits) {
  for (const Relocation& r : image_.relocations()) {
    if (r.type != R_X86_64_TPOFF64) continue;
    uint64_t variable = uint64_t(r.addend);
    if (r.symbol != 0) {
      if (r.symbol >= image_.dynamic_symbols().size()) throw unusable(path_, "it is damaged");
      variable += image_.dynamic_symbols()[r.symbol].address.value;
    }
    put_word(placed(r.where.value), uint64_t(tls_offset) + variable);
  }
  NewAddr entry_word = address("_profentry");
  put_word(entry_word, program_entry.value - entry_word.value);
  put_word(address("_profdoubt"), is_thread_pointer_doubtful);
  put_word(address("_profunhooked"), !has_hooks);

  for (const Elf64_Phdr& s : image_.segments()) {
    if (!is_loaded(s)) continue;
    bool code = s.p_flags & PF_X, data = s.p_flags & PF_W;
    std::string name = code ? ".prof.runtime" : data ? ".prof.runtime.data" : ".prof.runtime.rodata";
    edits.add(name, SHT_PROGBITS, (code ? SHF_EXECINSTR : 0) | (data ? SHF_WRITE : 0), placed(s.p_vaddr), s.p_memsz,
              64);
  }
}

AddedCode Runtime::code() const {
  AddedCode code{&image_, read_eh_frame(image_), {}};
  for (const Elf64_Phdr& s : image_.segments()) {
    if (!is_loaded(s) || !(s.p_flags & PF_X)) continue;
    const OldAddr start(s.p_vaddr);
    code.copies.add({.original = {start, start + s.p_memsz},
                     .function = start,
                     .start = placed(s.p_vaddr),
                     .size = s.p_memsz,
                     .steps = {{0, 0}}});
  }
  code.copies.sort();
  return code;
}

std::vector<Runtime::Function> Runtime::functions() const {
  const std::vector<Symbol>& symbols = image_.symbols().empty() ? image_.dynamic_symbols() : image_.symbols();
  std::vector<Function> out;
  for (const Symbol& s : symbols) {
    if (s.type != STT_FUNC || s.section == SHN_UNDEF || s.name.empty()) continue;
    NewAddr at = placed(s.address.value);
    for (size_t i = 0; i < segments_.size(); ++i)
      if (at >= segments_[i].start() && at < segments_[i].end()) out.push_back({s.name, at, s.size, i});
  }
  return out;
}

}  // namespace profld
