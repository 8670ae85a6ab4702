// A rewritten program as the reader sees it: notes, map of copies, symbols.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "fuzz.h"
#include "prof/elf_file.h"
#include "prof/functions.h"
#include "prof/message.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const int file = memfd_create("program", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != ssize_t(size)) std::abort();
  try {
    prof::ElfFile program(path);
    prof::Object object("program");
    std::vector<uint64_t> addresses = {0, 0x1000, UINT64_MAX};
    for (const auto& entry : program.map()) addresses.push_back(entry.copy);
    for (const auto& symbol : program.symbols()) addresses.push_back(symbol.address + symbol.size);
    object.set_rewritten(std::move(program));
    object.finish();
    for (uint64_t a : addresses) object.symbols().find(object.entry_of(a));
  } catch (const prof::Error&) {
  }
  return 0;
}
