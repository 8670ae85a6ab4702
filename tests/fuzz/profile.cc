// A profile, shown in every view, of a small program that is there.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "fuzz.h"
#include "prof/message.h"
#include "prof/show.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const program = std::getenv("PROGRAM");
  if (!program) std::abort();  // tests/fuzz/run sets it
  static std::FILE* const nowhere = std::fopen("/dev/null", "w");
  static const int file = memfd_create("profile", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != ssize_t(size)) std::abort();
  prof::Options options;
  for (const auto view : {prof::Options::View::kFlat, prof::Options::View::kTree, prof::Options::View::kJson}) {
    options.view = view;
    options.gmon = view == prof::Options::View::kFlat ? "/dev/null" : "";
    options.raw_times = view == prof::Options::View::kTree;
    options.tree.by_time = size % 2;
    try {
      prof::show(options, program, {path, path}, nowhere);
    } catch (const prof::Error&) {
      return 0;
    }
  }
  return 0;
}
