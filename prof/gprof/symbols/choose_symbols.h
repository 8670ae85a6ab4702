// Which functions, lines and arcs each output of `prof gprof` is about: what -p, -P, -q, -Q, -n, -k and their like were
// given, compared with the symbols of a program.

#ifndef PROF_GPROF_SYMBOLS_CHOOSE_SYMBOLS_H
#define PROF_GPROF_SYMBOLS_CHOOSE_SYMBOLS_H

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "prof/gprof/graph/call_graph.h"

namespace prof::gprof {

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

enum class Subject { flat, graph, time, arcs, counts, source };
constexpr size_t kSubjects = 6;

// What the command line says of a subject: symspecs (Symspec), for arcs two with a slash between them.
struct SubjectSpecs {
  std::vector<std::string> only, except;
};
using Specs = std::array<SubjectSpecs, kSubjects>;

struct ChosenSymbols {
  Selection report;
  Choice counts, source;  // -C and -Z, -A and -J
};

// What the specs mean among these functions. What is to be said to the user is added to `remarks`: symspecs that match
// nothing. Throws Error for a text that is no symspec.
ChosenSymbols choose_symbols(const Specs& specs, const std::vector<Function>& functions, const Trace& trace,
                             std::vector<std::string>& remarks);

}  // namespace prof::gprof

#endif
