// Which byte ranges of a program are functions. The unwind tables know every range that the compiler made, in stripped
// programs too; symbols add hand-written functions that have none.

#ifndef LINKER_REWRITE_PROGRAM_FUNCTIONS_H
#define LINKER_REWRITE_PROGRAM_FUNCTIONS_H

#include <string>
#include <vector>

#include "linker-rewrite/elf/image.h"
#include "linker-rewrite/unwind/eh_frame.h"

namespace profld {

// A contiguous range of code: a function, or a part that the compiler split off it (a fragment: foo.cold).
struct CodeRange {
  OldRange range;
  const Fde* fde = nullptr;        // the first that describes it; null if only a symbol does
  std::vector<std::string> names;  // of the symbols at its start, the best one first; empty in stripped programs
  bool fragment = false;
  // Set by group_functions:
  bool entered = false;  // called directly, or its address is taken
  uint32_t group = 0;
  uint32_t part = 0;  // index in the group's FunctionCode::parts

  // The kernel's entry point (_start). Nobody called it and it never returns, so it is no function and has no call to
  // count.
  bool is_function() const { return !fragment && !(fde && fde->no_return_address); }
  // A jump table that leads here tells that it is a fragment of the table's function.
  bool may_be_fragment_of_any() const { return !entered && (fragment || names.empty()); }
  std::string name() const { return names.empty() ? std::string() : names.front(); }
};

// What is done with code around system calls that make threads and processes: both, the old and the new one, go on
// there.
enum class TaskCalls : uint8_t {
  stay,  // a hook of leaving would run in both
  move,  // there are no hooks, and the runtime has to know what is made (select_task_calls)
};

// All ranges, ascending, not overlapping (ranges that overlap in the tables become one). Linkage stubs (.plt) are not
// included. If task calls move, two kinds of code are included that C libraries have around them: what control runs on
// to after the end that the unwind table gives a range (glibc's clone ends before the system call there, as unwinders
// shall not follow the new thread), and functions of which a symbol gives no size (musl's).
std::vector<CodeRange> find_functions(const Image& image, const EhFrame& frames,
                                      TaskCalls task_calls = TaskCalls::stay);

// True for bytes in front of a function that are a number, dressed up as an instruction, and no-operations. clang
// -fsanitize=kcfi puts them there, with a symbol that says they were a function. Checks of indirect calls read the
// number.
bool is_number_before_function(const Image& image, OldRange range);

// The addresses of the linker's stubs (.plt and similar sections); empty if there are no section headers.
std::vector<OldRange> linkage_stubs(const Image& image);

}  // namespace profld

#endif
