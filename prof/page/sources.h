// What a page holds of the source, if that is to be in it: a document with all texts, and columns of numbers
// (packed.h). It is what prof --annotate and prof --disassemble print.
//
// The document, whose texts are fit to be printed:
//
//     titles        of the cells of a line, and of an instruction
//     remarks       on what is missing, and on what was left out since there is too much
//     files         those with most time first: path; self, its time; ran, "12 of 15 lines with code ran"; text, its
//                   lines with newlines between them, null if that is not there; cut, whether the rest of the text was
//                   left out; cells, arrays of texts, of the lines that anything is known of
//     instructions  cells and text, arrays: those of a line stand one after the other, in the order of the lines
//
// Columns:
//
//     files.lines            how many lines of a file anything is known of
//     lines.number           of these, less that of the line before
//     lines.heat             how long a line took: cycles, executions where there are no samples, or else the cycles of
//                            the functions that begin there
//     lines.instructions     how many instructions were made of it
//     functions.file         by function: where it begins: the number of the file and 1, or 0 if that is not known
//     functions.line
//     instructions.function
//     instructions.distance  from the entry of the function, signed
//
// Of two profiles, A and B, there is one document, too. The programs are mostly two builds, and may be of two texts of
// a file; but only one of these is there to be shown. So lines are compared where they are known to be the same ones:
// if both programs are the same build, or if the text, which is the same for both, has not been changed since the older
// of them was made. Elsewhere the figures of one side are shown: those of B, unless only A is known to be of that text;
// the other's are "-", and a remark says so. Nothing tells lines that moved from others. There are no instructions,
// since those of two builds have nothing in common that one could go by. In the document:
//
//     titles    of the figures of A and of B, and of the change, which is of what lines.heat is of
//     files     self is missing; selves, texts: its time in A, in B; note, why nothing is compared in it, or ""
//
// Columns: lines.heat is how much is known to have changed. One more, by functions of the difference those of
// functions.:
//
//     lines.change   0 nothing is compared; 1 it is the same, or may be noise; 2 to 5 more, 6 to 9 less: the greater,
//                    the more of it

#ifndef PROF_PAGE_SOURCES_H
#define PROF_PAGE_SOURCES_H

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "packed.h"
#include "prof/model/analysis/analysis.h"
#include "prof/model/blocks/annotation.h"
#include "prof/model/blocks/disassembly.h"
#include "prof/model/compare/difference.h"

namespace prof {

struct PageSources {
  const Analysis& analysis;
  const Annotation& annotation;
  const Disassembly& disassembly;
  SourceText& text;
  std::vector<std::string> remarks;
};

// Which functions the instructions of are to be in a page, of those that were selected and did anything: as many of
// those with most time as a page has room for. If these are not all, there is a remark.
std::vector<uint32_t> functions_with_instructions(const Analysis& analysis, std::vector<uint32_t> selected,
                                                  std::vector<std::string>& remarks);

// Packs what there is room for: not the end of the stream.
void pack(const PageSources& sources, Packed& packed);

// The source of two sides, of some runs each.
class ComparedSources {
 public:
  ComparedSources();
  ComparedSources(ComparedSources&&) noexcept;
  ComparedSources& operator=(ComparedSources&&) noexcept;
  ~ComparedSources();

  // A run. `numbers`: of its functions, as Comparison::add returned them. Throws Error if lines of one run have the
  // times of samples, and those of another the times of functions.
  void add(size_t side, const Analysis& analysis, const std::vector<uint32_t>& numbers, const Annotation& annotation,
           SourceText text, const std::vector<std::string>& remarks);

  // Compares what was added; the difference must outlive this. Returns what there is to say of it. To be called once.
  std::vector<std::string> settle(const Difference& difference);

  // Packs what there is room for, when it is settled: not the end of the stream.
  void pack(Packed& packed);

 private:
  class Packing;
  std::unique_ptr<Packing> packing_;
};

}  // namespace prof

#endif
