#include "linker-rewrite/base/progress.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

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

TEST_CASE("progress: a first stage that lasts is drawn while it does") {
  std::FILE* out = std::tmpfile();
  REQUIRE(out);
  std::atomic<double> now = 100;
  {
    Progress progress(out, "cc1", [&] { return now.load(); });
    progress.watch();
    progress.show(0.5, "finding");
    now = 102;
    for (long at = 0; at == 0;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      flockfile(out);
      at = std::ftell(out);
      funlockfile(out);
    }
  }
  std::rewind(out);
  char text[200] = {};
  CHECK(std::fread(text, 1, sizeof text - 1, out) > 0);
  CHECK(std::string(text) == "\r\x1b[Kprofld: cc1: [############            ] finding\r\x1b[K");
  std::fclose(out);
}
