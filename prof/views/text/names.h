// Names of functions, and lines of text, that fit into the columns of a terminal.

#ifndef PROF_VIEWS_TEXT_NAMES_H
#define PROF_VIEWS_TEXT_NAMES_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "linker-rewrite/names/demangle.h"

namespace prof {

// A demangled name as people write it; names/demangle.h.
using prof_names::simplified;

// How many columns of a terminal a text takes that is printable (libprof/printable.h).
size_t columns_of(const std::string& text);

// Whether the user's locale (LC_ALL, LC_CTYPE, LANG) has UTF-8.
bool has_utf8_locale();

// A printable name, or so much of it as fits into `columns` columns; at least 8 are used. If it is too long, what says
// least goes first: of the library after it the version, "inflate(int) [libz]" for [libz.so.1], and then its end, if it
// takes more than a third of the columns; the return type; template arguments, the innermost first, for which there is
// <...> or, in UTF-8, ‹…›; parameters; and at last the middle.
std::string fitted(const std::string& name, size_t columns, bool utf8 = has_utf8_locale());

// A printable text, or its beginning and, twice as long, its end, if it does not fit into `columns` columns; at least 8
// are used.
std::string middle_cut(const std::string& text, size_t columns, bool utf8 = has_utf8_locale());

// A printable line, broken at its blanks where it is longer than `columns`, if there are any. Each line ends with a
// newline; those after the first are indented by two. A word that is too long for a line by itself is cut in the
// middle, or kept.
enum class LongWords : uint8_t { cut, kept };
std::string wrapped(const std::string& line, std::optional<size_t> columns, LongWords long_words = LongWords::cut);

}  // namespace prof

#endif
