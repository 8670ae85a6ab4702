// Which functions cost more to watch than watching them is worth.

#ifndef PROF_COMMANDS_SHOWING_SUGGEST_H
#define PROF_COMMANDS_SHOWING_SUGGEST_H

#include <string>
#include <vector>

#include "prof/model/analysis/analysis.h"
#include "prof/views/text/output.h"

namespace prof {

struct Suggestion {
  std::vector<std::string> patterns;  // for profld -N, those with the most calls first; names that match as they are
  double calls = 0;                   // the part of all calls that are of these functions, 0 to 1
  double cost = 0;                    // cycles that timing all calls takes
  double cost_left = 0;               // the same without these functions
};

Suggestion suggest(const Analysis& analysis);

// The options as a shell takes them, in one line: -N name -N '#1b3a0'. What they are good for goes to standard error.
void print_suggestion(const Analysis& analysis, Output& out);

}  // namespace prof

#endif
