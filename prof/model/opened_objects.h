// The code and the debug information of the programs and libraries of an analysis, each opened when it is first asked for.

#ifndef PROF_MODEL_OPENED_OBJECTS_H
#define PROF_MODEL_OPENED_OBJECTS_H

#include <cstdint>
#include <map>
#include <memory>

#include "analysis.h"
#include "inlined.h"
#include "original_code.h"

namespace prof {

struct OpenedObject {
  OpenedObject(const Object& object, const DebugSearch& search) : info(object, search), code(object, search) {}
  ObjectDebugInfo info;
  OriginalCode code;
};

class OpenedObjects {
 public:
  // Both must outlive this.
  OpenedObjects(const Analysis& analysis, const DebugSearch& search) : analysis_(analysis), search_(search) {}

  // By index in the analysis.
  OpenedObject& at(uint32_t object) {
    std::unique_ptr<OpenedObject>& opened = opened_[object];
    if (!opened) opened = std::make_unique<OpenedObject>(analysis_.functions.objects()[object], search_);
    return *opened;
  }

  // Calls `look` with the index, the name and the code of each that was asked for.
  template <class Look>
  void each(const Look& look) const {
    for (const auto& [object, opened] : opened_) look(object, analysis_.functions.objects()[object].name(), *opened);
  }

 private:
  const Analysis& analysis_;
  const DebugSearch& search_;
  std::map<uint32_t, std::unique_ptr<OpenedObject>> opened_;
};

}  // namespace prof

#endif
