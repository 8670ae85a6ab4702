// Which functions the user wants to be profiled: -F, -N, --min-size, --no-leaves, --all, --no-hooks,
// --no-imports, --blocks, --latency, --keep, --trace, --discover.
//
// Of a library, two kinds of functions are left out. Those that a resolver chooses among when it is loaded (strlen,
// memcpy), and the resolvers: the former are called far more often than any others, and time is measured better at the
// call. And small ones, unless they are asked for: the hooks of __errno_location alone would take a fifth of the time
// of sort. Where there are no hooks, only resolvers are left out: it costs next to nothing to count the others.

#ifndef LINKER_REWRITE_DECIDE_SELECTION_H
#define LINKER_REWRITE_DECIDE_SELECTION_H

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "linker-rewrite/elf/debug_names.h"
#include "linker-rewrite/names/pattern.h"
#include "linker-rewrite/program/program.h"

namespace profld {

struct Selection {
  // Patterns that are compared with a function's names, mangled and demangled (NameSelection).
  std::vector<std::string> only{};  // -F: functions that match one of them; all if empty
  std::vector<std::string> not_{};  // -N: but not functions that match one of these
  DebugNames debug_names{};         // names besides those in the program itself
  uint64_t min_size = 0;            // --min-size: only functions of at least so many bytes of code, fragments included
  bool no_leaves = false;           // --no-leaves: only functions that call others
  bool discover = false;            // --discover: also functions that no table names
  bool all = false;                 // --all: of a library, also those that are too small to time
  bool no_hooks = false;            // --no-hooks: these functions are moved, but call no hooks
  bool blocks = false;              // --blocks: executions of their basic blocks are counted
  std::vector<std::string> keep{};  // --keep: functions that match one of these keep their hooks, though others leave
  bool hooks_leave = false;         // --latency: the same, and hooks leave while the program runs
  bool trace = false;               // --trace: they write records
  bool trace_memory = false;        // --trace=memory: also of the memory that they touch
  bool imports = true;              // --no-imports: not the functions of other files that they call
  std::set<std::string> imports_only{};  // --imports=NAME,...: of those, only these; all if empty
};

// True if the group calls nothing, not even by a tail call. Its indirect jumps must be known.
bool is_leaf(const Program& program, const Group& group);

// True if the group is too small to time: it calls nothing, has no loop, and at most kSmallFunction bytes.
bool is_small(const Program& program, const Group& group);
inline constexpr uint64_t kSmallFunction = 48;

// Sets Group::selected, left_out, hooked and keeps_hooks, and Program::hooks_leave. A group is selected as a whole:
// control passes between its ranges without calls.
void select_groups(Program& program, const Selection& selection);

// What selects the functions that keep their hooks. There must be patterns of these.
Selection kept_by(const Selection& selection);

// Which functions -F and -N mean; names/pattern.h says how patterns are compared with names.
class NameSelection {
 public:
  // `selection` must outlive it.
  NameSelection(const Selection& selection, const Image& image);

  // Whether the function is selected that begins with the range, or the function of another file that has this name. A
  // function without a symbol is called #address, in hexadecimal.
  bool has(const CodeRange& range) const;
  bool has(const std::string& import) const;

 private:
  prof_names::Filter filter_;
  const DebugNames& debug_names_;
  prof_names::Languages languages_;
};

// Which calls of functions of other files get hooks: --imports, --no-imports. See import_calls.cc.

// How many calls of imported functions, and tail jumps to them, were found in the functions that the user selected.
struct ImportCallCounts {
  uint64_t calls = 0;          // that get hooks
  uint64_t tail_jumps = 0;     // that are counted
  uint64_t to_special = 0;     // left alone: of a function that returns twice, or that compilers call in their own way
  uint64_t from_unhooked = 0;  // left alone: from a function that stays
};

// Sets Group::import_calls and Program::imports. To be called when it is final which groups move.
ImportCallCounts select_import_calls(Program& program, const Selection& selection);

// A line for each pattern of -F, -N and --keep that no function of the program matches, and none that it calls in other
// files: "-F srot: matches no function; did you mean std::sort?"
std::vector<std::string> unmatched_patterns(const Selection& selection, const Program& program);

}  // namespace profld

#endif
