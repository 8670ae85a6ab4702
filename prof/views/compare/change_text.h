// Figures of two sides, and what changed between them, as the table and the tree show them.

#ifndef PROF_VIEWS_COMPARE_CHANGE_TEXT_H
#define PROF_VIEWS_COMPARE_CHANGE_TEXT_H

#include <string>

#include "prof/model/compare/difference.h"

namespace prof {

// A change of a time, with its sign, and ~ before it unless it is known: "+1.23ms", "~-12ns". "0" if there is none that
// could be measured.
std::string duration_change(const Change& change);

// A mean number of calls; with a place if it is no whole number.
std::string count_text(double calls);

// A change in percent of what was before, with its sign: "+12.3%". "" if there was nothing before.
std::string percent_text(const Change& change);

// A text with ~ before it unless the change is known, or there is none.
std::string marked(const Change& change, const std::string& text);

// The name of a function, printable, and what it was before if it had another: "foo (was foo.part.0)".
std::string name_text(const ComparedFunction& function);

}  // namespace prof

#endif
