// gprof's way to name functions and lines of the source, a symspec:
//
//     parse            a function
//     scan.c           all that is in a source file: a name with a dot is one
//     120              what stands in line 120, of whichever file
//     scan.c:parse     a function in a source file
//     scan.c:120       a line of a source file
//     :f.part.0        a function with a dot in its name
//
// A source file is named without its folder. A function is named as its symbol is, or as that is shown, with or without
// its parameters. No text at all means everything.

#ifndef PROF_GPROF_SYMBOLS_SYMSPEC_H
#define PROF_GPROF_SYMBOLS_SYMSPEC_H

#include <string>
#include <string_view>
#include <vector>

namespace prof::gprof {

// What a symspec is compared with.
struct NamedPlace {
  std::string_view symbol, name;  // as in the table of symbols, and demangled
  std::string_view file;          // path of the source; empty if unknown
  unsigned line = 0;
};

class Symspec {
 public:
  // Throws Error if its line is no number.
  explicit Symspec(std::string text);

  const std::string& text() const { return text_; }
  bool matches(const NamedPlace& place) const;
  // Whether any of these is in the file that it names, or it names none.
  bool has_file(const std::vector<NamedPlace>& places) const;

 private:
  bool matches_file(std::string_view path) const;
  bool matches_name(const NamedPlace& place) const;

  std::string text_, file_, name_;  // empty: any
  unsigned line_ = 0;               // 0: any
};

}  // namespace prof::gprof

#endif
