#include "option_values.h"

namespace prof {

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

std::string type_of(const prof_options::Given& given) {
  return prof_options::one_of<const char*>(given, "type",
                                           {{"time", "time"},
                                            {"elapsed", "elapsed"},
                                            {"cpu", "cpu"},
                                            {"adaptive", "adaptive"},
                                            {"sample", "sample"},
                                            {"count", "count"}});
}

SortKey sort_key_of(const prof_options::Given& given) {
  return prof_options::one_of<SortKey>(given, "key",
                                       {{"self", SortKey::self},
                                        {"total", SortKey::total},
                                        {"calls", SortKey::calls},
                                        {"per-call", SortKey::per_call},
                                        {"name", SortKey::name}});
}

std::string file_name(const char* option, const std::string& argument) {
  if (argument.empty()) throw UsageError(std::string(option) + ": no file named");
  return argument;
}

}  // namespace prof
