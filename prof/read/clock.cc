#include "clock.h"

#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace prof {

namespace {

using prof_format::Header;

// The two stamps of a pair are taken some hundred nanoseconds apart. Over this span that is an error of less than a
// millionth.
constexpr uint64_t kReliableSpan = 100'000'000;  // ns

std::string read_small_file(const std::string& path) {
  std::string text;
  if (std::FILE* f = std::fopen(path.c_str(), "re")) {
    char buffer[1024];
    text.assign(buffer, std::fread(buffer, 1, sizeof buffer, f));
    std::fclose(f);
  }
  return text;
}

bool is_this_boot(const Header& header) {
  std::string recorded(header.boot_id, strnlen(header.boot_id, sizeof header.boot_id));
  std::string now = read_small_file("/proc/sys/kernel/random/boot_id");
  while (!now.empty() && now.back() == '\n') now.pop_back();
  while (!recorded.empty() && recorded.back() == '\n') recorded.pop_back();
  return !now.empty() && now == recorded;
}

uint64_t monotonic_raw() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return uint64_t(t.tv_sec) * 1'000'000'000 + uint64_t(t.tv_nsec);
}

// What both clocks say at a moment.
struct Moment {
  uint64_t tsc = 0, ns = 0;
};

// This process may lose its processor between the two clocks: of a few readings, the one that took least.
Moment read_clocks() {
  constexpr int kTries = 8;
  Moment best;
  uint64_t least = ~uint64_t(0);
  for (int i = 0; i < kTries; ++i) {
    const uint64_t before = __rdtsc(), ns = monotonic_raw(), took = __rdtsc() - before;
    if (took >= least) continue;
    least = took;
    best = {before + took / 2, ns};
  }
  return best;
}

// A moment after that stamp. Always the same one if possible, so that all times are in seconds of one length.
Moment moment_after(uint64_t tsc) {
  static Moment kept;
  if (kept.tsc <= tsc) kept = read_clocks();
  return kept;
}

double rate(uint64_t tsc, uint64_t ns) { return ns == 0 ? 0 : double(tsc) * 1e9 / double(ns); }

// A processor's time stamps tick with 10 MHz to 100 GHz; anything else is damage.
bool is_plausible(double hz) { return hz >= 1e7 && hz <= 1e11; }

// What /proc says of a process from field 3 on, its state; "" if there is none. Field 2, the name, may hold anything,
// so it ends at the last ')'.
std::string state_of_process(uint32_t pid) {
  const std::string stat = read_small_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t end = stat.rfind(')');
  return end == std::string::npos || end + 2 >= stat.size() ? "" : stat.substr(end + 2);
}

// A field, counted from 1 as in proc(5). 0 if it is not there.
uint64_t field_in(const std::string& state, int wanted) {
  size_t at = 0;
  for (int field = 3; field < wanted; ++field) {
    at = state.find(' ', at);
    if (at == std::string::npos) return 0;
    ++at;
  }
  return std::strtoull(state.c_str() + at, nullptr, 10);
}

uint64_t start_time_in(const std::string& state) { return field_in(state, 22); }

}  // namespace

bool process_is_running(const Header& header) {
  if (header.pid == 0 || !is_this_boot(header)) return false;
  const std::string state = state_of_process(header.pid);
  // A zombie's memory is gone.
  if (state.empty() || state[0] == 'Z' || state[0] == 'X') return false;
  return start_time_in(state) == header.start_time;
}

uint64_t process_start_time(uint32_t pid) { return start_time_in(state_of_process(pid)); }

ProcessorTimes processor_times(uint32_t pid) {
  const std::string state = state_of_process(pid);
  const uint64_t tick = 1'000'000'000 / uint64_t(sysconf(_SC_CLK_TCK));
  return {(field_in(state, 14) + field_in(state, 16)) * tick, (field_in(state, 15) + field_in(state, 17)) * tick};
}

bool thread_is_running(uint32_t pid, uint32_t tid) {
  return !read_small_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/comm").empty();
}

std::optional<uint64_t> thread_cpu_time(uint32_t pid, uint32_t tid) {
  const std::string text =
      read_small_file("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/schedstat");
  if (text.empty()) return std::nullopt;
  return std::strtoull(text.c_str(), nullptr, 10);
}

uint64_t time_stamp() { return __rdtsc(); }

double time_stamp_rate(const Header& header) {
  uint64_t tsc = 0, ns = 0;
  auto consider = [&](uint64_t tsc_then, uint64_t ns_then) {
    if (tsc_then <= header.tsc_start || ns_then <= header.ns_start) return;
    const uint64_t t = tsc_then - header.tsc_start, n = ns_then - header.ns_start;
    if (n > ns && is_plausible(rate(t, n))) tsc = t, ns = n;
  };
  consider(header.tsc_last, header.ns_last);
  if (header.flags & prof_format::kEnded) consider(header.tsc_end, header.ns_end);
  if (ns < kReliableSpan && is_this_boot(header)) {
    const Moment now = moment_after(header.tsc_start);
    consider(now.tsc, now.ns);
  }
  return rate(tsc, ns);
}

}  // namespace prof
