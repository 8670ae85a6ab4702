// Which functions -F and -N mean; names/pattern.h says how patterns are compared with names.

#ifndef LINKER_REWRITE_DECIDE_NAME_SELECTION_H
#define LINKER_REWRITE_DECIDE_NAME_SELECTION_H

#include <string>
#include <vector>

#include "linker-rewrite/names/pattern.h"
#include "linker-rewrite/program/program.h"
#include "selection.h"

namespace profld {

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

// A line for each pattern of -F and -N that no function of the program matches, and none that it calls in other files:
// "-F srot: matches no function; did you mean std::sort?"
std::vector<std::string> unmatched_patterns(const Selection& selection, const Program& program);

}  // namespace profld

#endif
