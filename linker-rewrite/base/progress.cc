#include "progress.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "libprof/printable.h"

namespace profld {

namespace {

constexpr double kPatience = 1;  // seconds
constexpr int kColumns = 24;

}  // namespace

Progress::Progress(std::FILE* out, const std::string& program, std::function<double()> seconds)
    : out_(out), program_(prof_text::printable(program)), seconds_(std::move(seconds)), start_(seconds_()) {}

void Progress::show(double done, const char* stage) {
  if (!out_) return;
  const std::lock_guard lock(mutex_);
  done_ = done;
  stage_ = stage;
  if (seconds_() - start_ >= kPatience) draw();
}

void Progress::watch() {
  if (!out_) return;
  try {
    watcher_ = std::jthread([this](std::stop_token stop) {
      constexpr std::chrono::milliseconds kPause(100);
      std::unique_lock lock(mutex_);
      while (!over_.wait_for(lock, stop, kPause, [&] { return is_drawn_ || stop.stop_requested(); }))
        if (stage_ && seconds_() - start_ >= kPatience) draw();
    });
  } catch (const std::system_error&) {
    // The system gives us no thread: then a line comes with the next stage.
  }
}

void Progress::draw() {
  const int full = int(std::clamp(done_, 0.0, 1.0) * kColumns);
  const std::string bar = std::string(size_t(full), '#') + std::string(size_t(kColumns - full), ' ');
  std::fprintf(out_, "\r\x1b[Kprofld: %s: [%s] %s", program_.c_str(), bar.c_str(), stage_);
  std::fflush(out_);
  is_drawn_ = true;
}

void Progress::clear() {
  const std::lock_guard lock(mutex_);
  stage_ = nullptr;
  if (is_drawn_) std::fputs("\r\x1b[K", out_), std::fflush(out_);
  is_drawn_ = false;
}

}  // namespace profld
