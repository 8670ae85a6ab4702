#include "progress.h"

#include <algorithm>

#include "libprof/printable.h"

namespace profld {

namespace {

constexpr double kPatience = 1;  // seconds
constexpr int kColumns = 24;

}  // namespace

Progress::Progress(std::FILE* out, const std::string& program, std::function<double()> seconds)
    : out_(out), program_(prof_text::printable(program)), seconds_(std::move(seconds)), start_(seconds_()) {}

void Progress::show(double done, const char* stage) {
  if (!out_ || seconds_() - start_ < kPatience) return;
  const int full = int(std::clamp(done, 0.0, 1.0) * kColumns);
  const std::string bar = std::string(size_t(full), '#') + std::string(size_t(kColumns - full), ' ');
  std::fprintf(out_, "\r\x1b[Kprofld: %s: [%s] %s", program_.c_str(), bar.c_str(), stage);
  std::fflush(out_);
  is_drawn_ = true;
}

void Progress::clear() {
  if (is_drawn_) std::fputs("\r\x1b[K", out_), std::fflush(out_);
  is_drawn_ = false;
}

}  // namespace profld
