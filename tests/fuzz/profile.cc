// A profile, shown in every view, of a small program that is there.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "fuzz.h"
#include "prof/message.h"
#include "prof/suggest.h"
#include "prof/views.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const program = std::getenv("PROGRAM");
  if (!program) std::abort();  // tests/fuzz/run sets it
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  static const int file = memfd_create("profile", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != ssize_t(size)) std::abort();
  try {
    const prof::Analysis a = prof::analyse({program, {path, path}, size % 2 == 1, size % 4 < 2, true});
    prof::Output out(nowhere, "nowhere");
    prof::print_flat(a, out);
    prof::print_tree(a, {size % 8 < 4, size % 16 < 8}, out);
    prof::print_json(a, out);
    prof::print_suggestion(a, out);
    prof::write_gmon(a, "/dev/null");
    prof::write_gprof_symbols(a, "/dev/null");
    prof::analyse_apart({program, {path}}, prof::Apart::kThreads,
                        [&](const prof::Analysis& part) { prof::print_flat(part, out); });
    out.finish();
  } catch (const prof::Error&) {
  }
  return 0;
}
