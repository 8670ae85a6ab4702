// Profiles in the formats of other programs, each in a file of its own here.

#ifndef PROF_EXPORT_EXPORTS_H
#define PROF_EXPORT_EXPORTS_H

#include <memory>
#include <string>

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

// The graph of functions, for Graphviz: those with at least `least_share` of everything in their total, and calls with
// a fifth of that.
void print_dot(const Analysis& analysis, double least_share, Output& out);

}  // namespace prof

#endif
