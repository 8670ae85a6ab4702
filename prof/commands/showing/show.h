// From options to output: shared by prof and prof run.

#ifndef PROF_COMMANDS_SHOWING_SHOW_H
#define PROF_COMMANDS_SHOWING_SHOW_H

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "prof/commands/options/options.h"
#include "prof/model/analysis/analysis.h"
#include "prof/model/blocks/annotation.h"

namespace prof {

// Prints the chosen view of the profiles to `file` and writes the files that were asked for. Returns the command's exit
// status: 1 if part of a profile was damaged. Throws Error if nothing could be shown. `gmon_libraries`: as of Input.
int show(const Options& options, const std::string& program, const std::vector<std::string>& profiles, std::FILE* file,
         const std::map<std::string, std::string>& gmon_libraries = {});

// The source of functions, and what there is to say of it, but for what SourceText says.
struct AnnotatedSource {
  Annotation annotation;
  SourceText text;
  std::vector<std::string> remarks;
};

// Functions whose source is to be in a page: those that ran, since a program may have a hundred thousand others, but
// not those of libraries as they are. May add functions to the analysis.
std::vector<uint32_t> code_for_page(Analysis& analysis);

AnnotatedSource annotated_source(const Analysis& analysis, const std::vector<uint32_t>& selected,
                                 const DebugSearch& search);

// Prof itself: tells the program from the profiles among the arguments, finds what was not named.
int show_arguments(const Options& options);

}  // namespace prof

#endif
