// glibc gives the libraries that a program needs, and their thread-local variables, room beside each other in a block of each
// thread, when it has loaded them. But if libraries are to audit it, it makes the block before it loads any. What comes
// later must fit into a reserve, 1664 bytes as it comes, as far as its code reaches its variables by a constant
// distance from the thread pointer (DF_STATIC_TLS). A program whose libraries have more of these than that is not
// started: "cannot allocate memory in static TLS block". rustc is one.
//
// The reserve has a part for that purpose, 512 bytes, which a tunable makes larger. It is set only where it has to be, since the
// program can see it in its environment.

#include "static_tls.h"

#include <cstdint>
#include <cstdlib>

#include "prof/read/elf_file.h"
#include "prof/read/error.h"

namespace prof {

namespace {

constexpr uint64_t kFits = 1024;  // bytes, for which the reserve is large enough
constexpr uint64_t kOptional = 512;
constexpr char kTunable[] = "glibc.rtld.optional_static_tls=";

uint64_t static_tls_of(const std::string& library) {
  try {
    return ElfFile(library).static_tls();
  } catch (const Error&) {
    return 0;  // the dynamic linker will say so
  }
}

}  // namespace

std::string tunables_for(const std::vector<std::string>& libraries, const std::string& present) {
  uint64_t needed = 0;
  for (const std::string& library : libraries) needed += static_tls_of(library);
  if (needed <= kFits) return "";
  needed += kOptional;
  if (const size_t at = present.rfind(kTunable); at != std::string::npos)
    needed += std::strtoull(present.c_str() + at + sizeof kTunable - 1, nullptr, 0);
  return present + (present.empty() ? "" : ":") + kTunable + std::to_string(needed);
}

}  // namespace prof
