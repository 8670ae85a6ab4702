// The code and the debug information of the programs and libraries of a table of functions, each opened when it is first asked for.

#ifndef PROF_MODEL_PROGRAM_OPENED_OBJECTS_H
#define PROF_MODEL_PROGRAM_OPENED_OBJECTS_H

#include <cstdint>
#include <map>
#include <memory>

#include "functions.h"
#include "object_debug_info.h"
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
  OpenedObjects(const FunctionTable& functions, const DebugSearch& search) : functions_(functions), search_(search) {}

  // By index in the table.
  OpenedObject& at(uint32_t object) {
    std::unique_ptr<OpenedObject>& opened = opened_[object];
    if (!opened) opened = std::make_unique<OpenedObject>(functions_.objects()[object], search_);
    return *opened;
  }

  // Calls `look` with the index, the name and the code of each that was asked for.
  template <class Look>
  void each(const Look& look) const {
    for (const auto& [object, opened] : opened_) look(object, functions_.objects()[object].name(), *opened);
  }

 private:
  const FunctionTable& functions_;
  const DebugSearch& search_;
  std::map<uint32_t, std::unique_ptr<OpenedObject>> opened_;
};

}  // namespace prof

#endif
