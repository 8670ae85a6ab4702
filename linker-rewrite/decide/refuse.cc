// Some languages' run-time systems look at return addresses: Go's stack growth and garbage collector and OCaml's
// collector find what a frame holds in tables keyed by them, and GHC puts such tables in front of the code. Copies have
// other return addresses, so these programs would fail at the first collection. Of OCaml's tables the format is known,
// and the copy's tables have the copies' addresses (program/frame_tables.cc).
//
// How such programs are recognized: Go's linker writes sections that its own tools need and strip keeps. Stripped GHC
// programs, and OCaml's that export nothing, keep nothing but the name of the environment variable that their run-time
// system reads, a string of its own in read-only data.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/elf/notes.h"
#include "movability.h"

namespace profld {

namespace {

bool has_symbol(const Image& image, std::string_view name) {
  auto named = [&](const Symbol& s) { return s.name == name; };
  return std::ranges::any_of(image.symbols(), named) || std::ranges::any_of(image.dynamic_symbols(), named);
}

// True if the program holds the first word of `text` as a string of its own (a zero before and after it): in any
// segment, as read-only data may lie in that of the code. profld's own data holds `text`, where more follows the word,
// so profld does not take itself for such a program.
bool has_string(const Image& image, std::string_view text) {
  const std::string whole = std::string(1, '\0') + std::string(text.substr(0, text.find(' '))) + std::string(1, '\0');
  return std::ranges::any_of(image.segments(), [&](const Elf64_Phdr& s) {
    if (s.p_type != PT_LOAD) return false;
    const ByteView bytes = image.bytes_from(OldAddr(s.p_vaddr));
    if (bytes.empty()) return false;
    constexpr size_t kBlock = 1 << 20;
    std::atomic<bool> found = false;
    parallel_for(
        bytes.size() / kBlock + 1,
        [&](size_t i) {
          // With those bytes of the next block that the string may end in.
          const ByteView block = bytes.subspan(i * kBlock);
          const size_t size = std::min(block.size(), kBlock + whole.size() - 1);
          if (memmem(block.data(), size, whole.data(), whole.size())) found = true;
        },
        1);
    return found.load();
  });
}

// Debuggers set a breakpoint at this function of the dynamic linker's. (musl's C library is its own dynamic linker.)
bool is_dynamic_linker(const Image& image) {
  return image.link_type() == LinkType::shared_library &&
         std::ranges::any_of(image.dynamic_symbols(),
                             [](const Symbol& s) { return s.name == "_dl_debug_state" && s.section != SHN_UNDEF; });
}

// OCaml 5, whose collector moves the stacks of its effects, or a program of OCaml's run-time system whose frame tables
// no symbol names. Those that are named are read later (program/frame_tables.cc).
bool is_unknown_ocaml(const Image& image) {
  if (has_symbol(image, "caml_frametable")) return has_symbol(image, "caml_runstack");
  return has_symbol(image, "caml_startup") || has_string(image, "OCAMLRUNPARAM sets its parameters");
}

}  // namespace

void refuse_unsupported(const Image& image) {
  if (is_rewritten(image)) throw refusal(Refusal::already_rewritten);
  if (image.segment(PT_LOAD) && image.link_type() == LinkType::shared_library && !image.segment(PT_DYNAMIC))
    throw refusal(Refusal::neither_program_nor_library);
  // klibc's programs start in their library, which calls main() at the entry point.
  if (image.segment(PT_INTERP) && !image.segment(PT_DYNAMIC)) throw refusal(Refusal::no_dynamic_section);
  if (is_dynamic_linker(image)) throw refusal(Refusal::dynamic_linker);
  if (image.link_type() == LinkType::shared_library && image.code().empty()) throw refusal(Refusal::no_code);
  if (image.section(".gopclntab") || image.section(".go.buildinfo") || image.section(".note.go.buildid"))
    throw refusal(Refusal::go_program);
  if (is_unknown_ocaml(image)) throw refusal(Refusal::ocaml_program);
  if (has_symbol(image, "hs_main") || has_symbol(image, "stg_ap_v_fast") ||
      has_string(image, "GHCRTS sets its parameters"))
    throw refusal(Refusal::ghc_program);
}

}  // namespace profld
