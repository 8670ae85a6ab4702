// The results of a rewrite, for people (-v) and for programs (--report).

#ifndef LINKER_REWRITE_REPORT_H
#define LINKER_REWRITE_REPORT_H

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "linker-rewrite/base/reason.h"
#include "linker-rewrite/move/coverage.h"
#include "linker-rewrite/program/program.h"

namespace profld {

struct Report {
  struct Skipped {
    std::string name;  // empty if it has no symbol
    OldAddr address;
    Reason reason;
  };
  uint64_t functions_total = 0;     // fragments are not functions
  uint64_t functions_selected = 0;  // by -F and -N; the total if neither was given
  uint64_t functions_instrumented = 0;
  Coverage code{};                 // what bytes of the original's code are in
  uint64_t returns = 0;            // exits through ret that got a hook
  uint64_t tail_jumps = 0;         // exits through jumps that got one
  uint64_t jump_tables = 0;        // cloned
  uint64_t imports = 0;            // functions of other files, some of whose calls got hooks
  uint64_t import_calls = 0;       // calls of them that did
  uint64_t import_tail_jumps = 0;  // tail jumps to them that are counted
  // Those that did not: of functions that return twice or that compilers call in their own way; from functions left in
  // place.
  uint64_t import_calls_to_special = 0, import_calls_from_unhooked = 0;
  bool blocks_counted = false;    // --blocks
  bool blocks_traced = false;     // --trace: they write records
  bool memory_traced = false;     // --trace=memory: with values
  uint64_t unknown_accesses = 0;  // accesses to memory in these blocks whose addresses the values do not tell
  uint64_t blocks = 0, block_counters = 0;
  bool counters_locked = false;      // threads may share them
  uint64_t functions_uncounted = 0;  // with their fragments; whose blocks are not among these
  struct LeftOutFunction {
    std::string name;  // empty if it has no symbol
    OldAddr address;
    LeftOut why;
  };
  std::vector<LeftOutFunction> left_out;        // of a library: not selected, though no option says so; by address
  std::vector<Skipped> skipped;                 // selected, but left in place; by address
  std::vector<std::string> unmatched_patterns;  // what to tell of patterns that match nothing, a line each
};

// As JSON, in the form that profld(1) documents.
void write_json(std::ostream& out, const Report& report);

// For people: totals, then how often each reason occurred, at any address.
void write_text(std::ostream& out, const Report& report);

// In one line, without its end: how little of the code has hooks. Of a report whose coverage is low.
std::string low_coverage(const Coverage& code);

}  // namespace profld

#endif
