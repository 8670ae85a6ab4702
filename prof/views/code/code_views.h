// The views of code: annotated source, annotated instructions, and from where functions are called.

#ifndef PROF_VIEWS_CODE_CODE_VIEWS_H
#define PROF_VIEWS_CODE_CODE_VIEWS_H

#include <cstddef>
#include <optional>
#include <vector>

#include "prof/model/analysis/analysis.h"
#include "prof/model/blocks/annotation.h"
#include "prof/model/blocks/call_sites.h"
#include "prof/model/blocks/disassembly.h"
#include "prof/model/program/source_text.h"
#include "prof/views/text/output.h"

namespace prof {

// `terminal`, in all of these: the columns of the terminal that is printed on, if it is one.

// Each file with its lines: how often they ran, how often functions that begin there were called, and what time the
// line took, if there are samples, or else these functions themselves. A file that is not there has the lines that
// anything is known of, without their text.
void print_annotation(const Analysis& analysis, const Annotation& annotation, SourceText& sources,
                      std::optional<size_t> terminal, Output& out);

// The same as texts, for what shows it in another form. What it is made of must outlive it.
class AnnotationTexts {
 public:
  AnnotationTexts(const Analysis& analysis, const Annotation& annotation);

  // Of the cells, which stand before the number of a line and its text.
  const std::vector<std::string>& titles() const { return titles_; }
  std::vector<std::string> cells(const AnnotatedLine& line) const;
  std::vector<std::string> cells(const DisassembledInstruction& instruction) const;

  // "12 of 15 lines with code ran"; "" if executions are not known.
  std::string lines_that_ran(const AnnotatedFile& file) const;
  // A time from samples; "" of none.
  std::string self(const SampledPart& part) const;

 private:
  const Analysis& analysis_;
  const Annotation& annotation_;
  const SampledTimes times_;
  std::vector<std::string> titles_;
};

// Each function with its instructions: how often they ran, what time samples say they took, their addresses, and their
// distance from the function's entry. Between them, the lines of source that they were made of.
void print_disassembly(const Analysis& analysis, const Disassembly& disassembly, SourceText& sources,
                       std::optional<size_t> terminal, Output& out);

// A line for each: how many calls there were, of which function, and from where. Those with the most calls first.
// Returns what to tell the user of lines of source that are not known.
std::vector<std::string> print_call_sites(const Analysis& analysis, const std::vector<CallSite>& sites,
                                          const DebugSearch& search, std::optional<size_t> terminal, Output& out);

}  // namespace prof

#endif
