#include "option_values.h"

namespace prof {

namespace {

const std::vector<std::pair<const char*, const char*>> kTypes = {{"time", "time"},     {"elapsed", "elapsed"},
                                                                 {"cpu", "cpu"},       {"adaptive", "adaptive"},
                                                                 {"sample", "sample"}, {"count", "count"}};

}  // namespace

std::string type_of(const prof_options::Given& given) {
  return prof_options::one_of<const char*>(given, "type", kTypes);
}

std::string type_of_run(const prof_options::Given& given) {
  auto types = kTypes;
  types.emplace_back(kAutoType, kAutoType);
  return prof_options::one_of<const char*>(given, "type", types);
}

SortKey sort_key_of(const prof_options::Given& given) {
  return prof_options::one_of<SortKey>(given, "key",
                                       {{"self", SortKey::self},
                                        {"total", SortKey::total},
                                        {"calls", SortKey::calls},
                                        {"per-call", SortKey::per_call},
                                        {"name", SortKey::name}});
}

}  // namespace prof
