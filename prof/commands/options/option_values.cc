#include "option_values.h"

namespace prof {

uint32_t parse_pid(const std::string& text) {
  uint32_t pid = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
  if (error != std::errc() || end != text.data() + text.size()) throw UsageError("-p " + text + ": is no process id");
  return pid;
}

std::string parse_type(const std::string& text) {
  for (const char* type : {"time", "elapsed", "cpu", "adaptive", "sample", "count"})
    if (text == type) return text;
  throw UsageError("--type " + text + ": is none of time, elapsed, cpu, adaptive, sample and count");
}

uint64_t parse_size(const std::string& option, const std::string& text) {
  uint64_t size = 0;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, size);
  const std::string unit(at, end);
  const unsigned shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 64;
  if (error != std::errc() || shift == 64 || size > UINT64_MAX >> shift)
    throw UsageError(option + " " + text + ": is no number of bytes; write it as 500M or 4G");
  return size << shift;
}

SortKey parse_sort_key(const std::string& text) {
  if (text == "self") return SortKey::self;
  if (text == "total") return SortKey::total;
  if (text == "calls") return SortKey::calls;
  if (text == "per-call") return SortKey::per_call;
  if (text == "name") return SortKey::name;
  throw UsageError("--sort " + text + ": is none of self, total, calls, per-call and name");
}

std::string file_name(const char* option, const std::string& argument) {
  if (argument.empty()) throw UsageError(std::string(option) + ": no file named");
  return argument;
}

}  // namespace prof
