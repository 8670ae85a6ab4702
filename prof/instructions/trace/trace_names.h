// Functions and lines of the source of the code in a trace. The files that were mapped are looked for where the trace
// says that they were; one with another build-id is not used.

#ifndef PROF_INSTRUCTIONS_TRACE_TRACE_NAMES_H
#define PROF_INSTRUCTIONS_TRACE_TRACE_NAMES_H

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linker-rewrite/names/pattern.h"
#include "prof/model/program/object.h"
#include "prof/model/program/object_debug_info.h"
#include "trace_memory.h"

namespace prof {

struct TracedFunction {
  uint32_t module = 0;   // index into TraceNames::module_names
  uint64_t entry = 0;    // link-time; 0 for all code of a file without names
  std::string name;      // for people
  std::string raw_name;  // as in the table of symbols; equal to `name` if there is no symbol
};

// Where an instruction is.
struct CodePlace {
  uint32_t function = 0;            // index into TraceNames::functions
  std::optional<uint64_t> address;  // link-time, if it is known
};

class TraceNames {
 public:
  TraceNames(DebugSearch search, bool raw_names) : search_(std::move(search)), raw_names_(raw_names) {}

  // What is at an address in the memory of a process.
  CodePlace place(const TraceMemory& memory, uint32_t process, uint64_t address);

  const std::vector<TracedFunction>& functions() const { return functions_; }
  // Base names of files, "[vdso]" and the like; the first is "[unknown]".
  const std::vector<std::string>& module_names() const { return module_names_; }

  // The line that an instruction was made of. None if nothing tells.
  std::optional<SourceLine> line(const CodePlace& place);

  // What patterns (names/pattern.h) are compared with.
  prof_names::Name name_for_patterns(const TracedFunction& function) const;

  // What to tell the user of the files.
  std::vector<std::string> remarks() const;

 private:
  struct File;  // of a module

  uint32_t file_of(const TraceModuleFile& module);
  uint32_t function(uint32_t file, uint64_t entry, bool has_name);

  DebugSearch search_;
  bool raw_names_;
  std::vector<std::shared_ptr<File>> files_ = {nullptr};  // by module; null: it cannot be read
  std::vector<std::string> module_names_ = {"[unknown]"};
  std::map<std::pair<std::string, std::string>, uint32_t> file_index_;  // by path and build-id
  std::vector<TracedFunction> functions_;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> function_index_;  // by module and entry
  std::vector<std::string> remarks_;
};

}  // namespace prof

#endif
