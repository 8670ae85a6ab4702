// The lines above a table, three at most: which program, which profiles and of what type; how long it ran; and what is
// not shown.

#ifndef PROF_VIEWS_TABLE_HEADER_H
#define PROF_VIEWS_TABLE_HEADER_H

#include <cstddef>
#include <optional>
#include <string>

#include "prof/model/analysis/analysis.h"

namespace prof {

// Each line ends with a newline, and is broken where a terminal has so many `columns` only. `left_out` of `rows` rows are not in the table; `things` is what a row is of: "functions".
std::string table_header(const Analysis& analysis, size_t left_out, size_t rows, const std::string& things,
                         std::optional<size_t> columns = {});

}  // namespace prof

#endif
