// What a gmon.out tells, as prof shows it.
//
// It says how often each function was called, by which others, and how many ticks of the clock found the program at each
// place. It does not say in which contexts, so total times and the tree are made as gprof makes its call graph (gmon_graph.h,
// gmon_tree.h): estimates, however exact the rest is. Calls are not known of what was not compiled with -pg, nor of what
// code outside of the file calls, such as main.
//
// Ticks of a bin that holds several functions are shared among them by their parts of it. A bin, and a function in it, begin
// at a multiple of two bytes, and a function goes on up to the next: so gprof has it, and what prof -g writes relies on it.

#ifndef PROF_MODEL_GMON_ANALYSIS_H
#define PROF_MODEL_GMON_ANALYSIS_H

#include "analysis.h"

namespace prof {

// Adds up the files gmon.out in `input.profiles`: of the program, which has to be named, or of the library that
// `input.gmon_libraries` has for a file. Throws Error if one of them cannot be used, or is of another program.
Analysis analyse_gmon(const Input& input);

}  // namespace prof

#endif
