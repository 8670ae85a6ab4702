// What a demangled name consists of:
//
//     int   ns::  Class<T>::  method<int>  (long, char const*)  const [clone .cold]
//     type  the path                       parameters           rest
//
// Demanglers write the return type of templates only. Names of C have nothing but a path of one part.

#ifndef NAMES_PARTS_H
#define NAMES_PARTS_H

#include <string_view>
#include <vector>

#include "brackets.h"

namespace prof_names {

// Stands after the name of an inlined function, and is no list of parameters.
inline constexpr std::string_view kInlined = "(inlined)";

struct Parts {
  std::string_view type;               // what stands before the path, with the blank after it
  std::vector<std::string_view> path;  // with template arguments; at least one
  std::string_view separator;          // between the parts of the path: :: or, in names of D and Ada, a full stop
  std::string_view parameters;         // with the parentheses; or empty
  std::string_view rest;               // qualifiers, clones, a library: " const [clone .cold] (inlined) [libz.so.1]"
};

// Of a name, whose brackets these are; both must outlive the parts.
Parts parts_of(std::string_view name, const Brackets& brackets);

}  // namespace prof_names

#endif
