// Pieces of JSON.

#ifndef PROF_VIEWS_TEXT_JSON_TEXT_H
#define PROF_VIEWS_TEXT_JSON_TEXT_H

#include <string>

namespace prof {

// Names are whatever bytes a symbol table holds; JSON is UTF-8. Whatever is not ASCII is escaped, controls with it.
std::string json_text(const std::string& text);

// A number as short as it can be without being another.
std::string json_number(double n);

}  // namespace prof

#endif
