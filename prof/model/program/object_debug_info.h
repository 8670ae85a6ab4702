// The debug information of a program or library, in it or in its debug file: where functions stand in the source, and
// what was inlined into them; and what is opened of the objects of a table of functions, each when it is first asked
// for.

#ifndef PROF_MODEL_PROGRAM_OBJECT_DEBUG_INFO_H
#define PROF_MODEL_PROGRAM_OBJECT_DEBUG_INFO_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debug_files.h"
#include "functions.h"
#include "original_code.h"
#include "prof/read/debug_info.h"

namespace prof {

class Object;

// Of that much debug information what is asked for is there within a second or so: enough to look at it unasked.
constexpr uint64_t kQuicklyReadDebugInfo = 64 << 20;

// The debug information of one object of a profile.
class ObjectDebugInfo {
 public:
  // `object` must outlive this. If its own files have no debug information, its debug file is looked for. If there are
  // more than `most_bytes` of it, it is not looked at.
  ObjectDebugInfo(const Object& object, const DebugSearch& search, uint64_t most_bytes = UINT64_MAX);

  // How many bytes there are, if these are more than `most_bytes`; else 0.
  uint64_t bytes_left_out() const { return bytes_left_out_; }

  // Nothing, if there is no debug information.
  std::optional<FunctionSource> find(uint64_t entry, const SamplesByAddress& samples = {});

  // The inlined functions that the instruction at an address is of, the outermost first. They live as long as this
  // object.
  std::vector<const InlinedFrame*> inlined_at(uint64_t address) {
    return info_ ? info_->inlined_at(address) : std::vector<const InlinedFrame*>();
  }

  // As DebugInfo has them; nothing, none or "" if there is no debug information.
  std::optional<CodeOrigin> origin_at(uint64_t address) {
    return info_ ? info_->origin_at(address) : std::optional<CodeOrigin>();
  }
  const std::vector<LineRow>& rows_at(uint64_t address) {
    static const std::vector<LineRow> none;
    return info_ ? info_->rows_at(address) : none;
  }
  std::string producer_at(uint64_t address) { return info_ ? info_->producer_at(address) : ""; }

  // The lines of the code of the compiled file that has the code at an address; empty if nothing tells.
  const LineTable& lines_at(uint64_t address);

  // The line of the source that the instruction at an address was made of.
  std::optional<SourceLine> line_at(uint64_t address) {
    return info_ ? info_->line_at(address) : std::optional<SourceLine>();
  }

  // Why what was asked for so far is not there, or not all of it; else "".
  std::string problem() const { return missing_.empty() ? unreadable() : missing_; }
  // The same, but "" where there is no debug information at all.
  std::string unreadable() const;

 private:
  void open(const Object& object, const ElfFile& file, const DebugSearch& search);

  std::optional<ElfFile> debug_file_, dwz_file_;
  std::unique_ptr<DebugInfo> info_;
  const uint64_t most_bytes_;
  uint64_t bytes_left_out_ = 0;
  std::string missing_, unreadable_;
};

// The code and the debug information of the programs and libraries of a table of functions, each opened when it is
// first asked for.

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
