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
  std::vector<std::pair<const char*, SortKey>> keys;
  for (const SortKey key : {SortKey::self, SortKey::total, SortKey::calls, SortKey::per_call, SortKey::name})
    keys.emplace_back(name_of(key), key);
  return prof_options::one_of<SortKey>(given, "key", keys);
}

}  // namespace prof
