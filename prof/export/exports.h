// Profiles in the formats of other programs, each in a file of its own here.

#ifndef PROF_EXPORT_EXPORTS_H
#define PROF_EXPORT_EXPORTS_H

#include <memory>
#include <string>
#include <vector>

#include "prof/model/analysis/analysis.h"
#include "prof/views/text/output.h"

namespace prof {

// A file that is being written. What is shown together is one part; of analyse_apart each thread or process is one.
class Export {
 public:
  Export() = default;
  Export(const Export&) = delete;
  Export& operator=(const Export&) = delete;
  virtual ~Export() = default;

  // Throw Error if something cannot be written.
  virtual void add(const Analysis& part) = 0;
  virtual void finish() {}  // to be called once, after the last part

  // What to tell the user of what was written, once it is.
  virtual std::vector<std::string> remarks() const { return {}; }
};

// Each writes to `out`, which must outlive it and is finished by the caller.

// Lines `outermost;...;innermost N`, as stackcollapse scripts make them for flamegraph.pl: N are nanoseconds, or calls
// where there are no times.
std::unique_ptr<Export> folded_export(Output& out);

// A line for each function, as RFC 4180 has them.
std::unique_ptr<Export> csv_export(Output& out);

// Of speedscope.app.
std::unique_ptr<Export> speedscope_export(Output& out);

// profile.proto, compressed: of pprof and what reads its files.
std::unique_ptr<Export> pprof_export(Output& out);

// Of KCachegrind and callgrind_annotate: a file at `path`, or of parts files at `path`-01, `path`-02 and so on.
std::unique_ptr<Export> callgrind_export(std::string path);

// Counts of blocks, by places in the source: as text for clang -fprofile-sample-use, and for gcc -fauto-profile.
// `search`: for debug files; it must outlive the export. Of parts, what they ran is added up. finish() writes the file,
// or throws Error if there is nothing to write: no blocks were counted, or there is no debug information.
std::unique_ptr<Export> llvm_profile_export(std::string path, const DebugSearch& search);
std::unique_ptr<Export> gcc_profile_export(std::string path, const DebugSearch& search);

// How often each branch was taken, for BOLT; the same otherwise. add() throws Error if the file that BOLT works on, the
// original, is not found.
std::unique_ptr<Export> bolt_export(std::string path, const DebugSearch& search);

// The graph of functions, for Graphviz: those with at least `least_share` of everything in their total, and calls with
// a fifth of that.
void print_dot(const Analysis& analysis, double least_share, Output& out);

}  // namespace prof

#endif
