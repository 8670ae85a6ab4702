// Where functions stand in the source, and what was inlined into them: from debug information, in the program or in its debug
// file.

#ifndef PROF_MODEL_INLINED_H
#define PROF_MODEL_INLINED_H

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "debug_files.h"
#include "prof/read/debug_info.h"

namespace prof {

class Object;
struct Analysis;

// The debug information of one object of a profile.
class ObjectDebugInfo {
 public:
  // `object` must outlive this. If its own files have no debug information, its debug file is looked for.
  ObjectDebugInfo(const Object& object, const DebugSearch& search);

  // Nothing, if there is no debug information, or more than `most_bytes` of it.
  std::optional<FunctionSource> find(uint64_t entry, uint64_t most_bytes = UINT64_MAX);

  // The lines of the code of the compiled file that has the code at an address; empty if nothing tells.
  const LineTable& lines_at(uint64_t address);

  bool is_there() const { return info_ != nullptr; }
  // Why there is none, or none that can be used; else "".
  const std::string& problem() const { return problem_; }

 private:
  void open(const ElfFile& file, const DebugSearch& search);

  std::optional<ElfFile> debug_file_, dwz_file_;
  std::unique_ptr<DebugInfo> info_;
  uint64_t size_ = 0;
  std::string problem_;
};

// Sets `sources` of the analysis. Remarks on modules without debug information are added to those of the analysis.
void find_sources(Analysis& analysis, const DebugSearch& search);

// What to tell the user if one function has most of the time, and others were inlined into it; else "". It costs little:
// large debug information is not looked at.
std::string remark_on_inlining(const Analysis& analysis, const DebugSearch& search);

}  // namespace prof

#endif
