// What a gmon.out tells, as prof shows it.
//
// It says how often each function was called, by which others, and how many ticks of the clock found the program at
// each place. It does not say in which contexts, so total times and the tree are made as gprof makes its call graph
// (gmon_graph.h): estimates, however exact the rest is. Calls are not known of what was not compiled with -pg, nor of
// what code outside of the file calls, such as main.
//
// Ticks of a bin that holds several functions are shared among them by their parts of it. A bin, and a function in it,
// begin at a multiple of two bytes, and a function goes on up to the next: so gprof has it, and what prof -g writes
// relies on it.

#ifndef PROF_MODEL_GMON_GMON_READING_H
#define PROF_MODEL_GMON_GMON_READING_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "prof/model/tree/recorded.h"

namespace prof {

struct GmonFiles {
  std::vector<std::string> paths;                // at least one
  std::map<std::string, std::string> libraries;  // of a file that is not of the program: the path of its library
  bool has_remarks = true;                       // remarks on what the figures are, too, not only on files
};

// Adds up the files in what is to be recorded, which has no more than the table of functions of the program. Adds to
// the remarks. Returns how many contexts were folded onto others. Throws Error if a file cannot be used, or is of
// another program.
uint64_t read_gmons(const GmonFiles& files, Recorded& recorded, std::vector<std::string>& remarks);

}  // namespace prof

#endif
