// The labels of switch statements in a source.
//
// A compiler makes code of what stands after `case 3:', and none of the label, so the line table does not have it where it
// stands in a line of its own. gcov shows how often control came there, which is how often the code after it was begun. Only
// the text tells where these labels are. So that no label is taken for one that the compiler never saw (#ifdef), nothing may
// stand between it and the code but other labels, declarations and comments.

#ifndef PROF_MODEL_BLOCKS_CASE_LABELS_H
#define PROF_MODEL_BLOCKS_CASE_LABELS_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace prof {

// By number, the lines that have labels and no code, and the lines of the code after them. `has_code`: of a line.
std::map<uint32_t, uint32_t> case_labels(const std::vector<std::string>& text,
                                         const std::function<bool(uint32_t)>& has_code);

}  // namespace prof

#endif
