// What is known of each line of a source: how often it ran, and the functions that begin there.
//
// A line has code if the line table says so. Its executions follow from the counts of blocks (line_counts.h); of code
// that is not counted (a function that stayed where it was, or a profile without profld -b) they are not known.

#ifndef PROF_MODEL_BLOCKS_ANNOTATION_H
#define PROF_MODEL_BLOCKS_ANNOTATION_H

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "prof/model/program/source_text.h"
#include "prof/model/tree/recorded.h"

namespace prof {

struct AnnotatedLine {
  bool has_code = false;
  std::optional<uint64_t> executions = {};
  bool is_exact = true;                  // false: the counts of the blocks allow others as well
  std::vector<uint32_t> functions = {};  // that begin there
  SampledPart self = {};                 // samples in its code
};

struct AnnotatedFile {
  std::string path;                         // as the compiler saw it
  std::map<uint32_t, AnnotatedLine> lines;  // by number; those that anything is known of
  std::optional<int64_t> made = {};         // when the first program was made that has code of it, if that is known
  bool is_made_known = true;                // of all that have code of it, and
  bool is_made_of_copy = false;             // of one it is only known when the copy of it was made
  std::set<std::string> builds = {};        // build-ids of these programs; one may be empty
};

struct Annotation {
  bool has_executions = false;       // blocks were counted
  bool has_samples = false;          // of instructions
  std::vector<AnnotatedFile> files;  // those with most samples first, then by path
  std::vector<std::string> remarks;  // on what is missing
};

// Adds to the functions those whose blocks were counted, and those that the files have if `all`, though they
// were never called: for views of code.
void add_uncalled_functions(Recorded& recorded, bool all);

// Functions that its patterns select (for functions and for modules), by object and address. Imports are none of them,
// nor is what was inlined into others, unless `with_inlined`. Throws Error if there are patterns for functions, and
// none matches.
std::vector<uint32_t> selected_code(const Recorded& recorded, bool with_inlined = false);

// Whether it is a library as it is: neither its executions nor, unless they are named, its lines are shown.
bool is_plain_library(const Object& object);

// Shown are the files that have a function of `functions`, if `theirs_only`; else all of which a line ran, but for
// those of libraries as they are.
Annotation annotate(const Recorded& recorded, const std::vector<uint32_t>& functions, bool theirs_only,
                    const DebugSearch& search, SourceText& sources);

// The text of sources, which may lie here or where the program does.
SourceText sources_of(const Recorded& recorded, const DebugSearch& search);

}  // namespace prof

#endif
