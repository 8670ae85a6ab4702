#include "linker-rewrite/base/progress.h"

#include <doctest/doctest.h>

#include <cstdlib>

using profld::Progress;

namespace {

// What is written to the terminal when stages begin at these times.
std::string drawn(const std::vector<double>& times, bool is_terminal = true) {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  double now = 100;
  {
    Progress progress(is_terminal ? out : nullptr, "cc1", [&] { return now; });
    for (double t : times) {
      now = 100 + t;
      progress.show(t / 4, "copying");
    }
  }
  std::fclose(out);
  const std::string result(text, size);
  std::free(text);
  return result;
}

}  // namespace

TEST_CASE("progress: nothing is drawn in the first second, or where there is no terminal") {
  CHECK(drawn({0, 0.5, 0.99}).empty());
  CHECK(drawn({0.5, 2, 3}, false).empty());
}

TEST_CASE("progress: one line, drawn anew for each stage and gone at the end") {
  CHECK(drawn({0.5, 2, 4}) ==
        "\r\x1b[Kprofld: cc1: [############            ] copying"
        "\r\x1b[Kprofld: cc1: [########################] copying"
        "\r\x1b[K");
}
