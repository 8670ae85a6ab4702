// Which functions, lines and arcs each output of `prof gprof` is about: what -p, -P, -q, -Q, -n, -k and their like were
// given, compared with the symbols of a program.

#ifndef PROF_GPROF_SYMBOLS_CHOOSE_SYMBOLS_H
#define PROF_GPROF_SYMBOLS_CHOOSE_SYMBOLS_H

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "prof/gprof/graph/call_graph.h"

namespace prof::gprof {

enum class Subject { flat, graph, time, arcs, counts, source };
constexpr size_t kSubjects = 6;

// What the command line says of a subject: symspecs (symspec.h), for arcs two with a slash between them.
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
