#include "option_values.h"

namespace prof {

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

}  // namespace prof
