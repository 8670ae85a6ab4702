// What a page holds of the source, if that is to be in it: a document with all texts, and columns of numbers (packed.h). It is what
// prof --annotate and prof --disassemble print.
//
// The document, whose texts are fit to be printed:
//
//     titles        of the cells of a line, and of an instruction
//     remarks       on what is missing, and on what was left out since there is too much
//     files         those with most time first: path; self, its time; ran, "12 of 15 lines with code ran"; text, its lines with newlines
//                   between them, null if that is not there; cut, whether the rest of the text was left out;
//                   cells, arrays of texts, of the lines that anything is known of
//     instructions  cells and text, arrays: those of a line stand one after the other, in the order of the lines
//
// Columns:
//
//     files.lines            how many lines of a file anything is known of
//     lines.number           of these, less that of the line before
//     lines.heat             how long a line took: cycles, executions where there are no samples, or else the cycles of the functions that begin there
//     lines.instructions     how many instructions were made of it
//     functions.file         by function: where it begins: the number of the file and 1, or 0 if that is not known
//     functions.line
//     instructions.function
//     instructions.distance  from the entry of the function, signed

#ifndef PROF_PAGE_SOURCES_H
#define PROF_PAGE_SOURCES_H

#include <string>
#include <vector>

#include "packed.h"
#include "prof/model/analysis/analysis.h"
#include "prof/model/blocks/annotation.h"
#include "prof/model/blocks/disassembly.h"

namespace prof {

struct PageSources {
  const Analysis& analysis;
  const Annotation& annotation;
  const Disassembly& disassembly;
  SourceText& text;
  std::vector<std::string> remarks;
};

// Which functions the instructions of are to be in a page, of those that were selected and did anything: as many of those with most
// time as a page has room for. If these are not all, there is a remark.
std::vector<uint32_t> functions_with_instructions(const Analysis& analysis, std::vector<uint32_t> selected,
                                                  std::vector<std::string>& remarks);

// Packs what there is room for: not the end of the stream.
void pack(const PageSources& sources, Packed& packed);

}  // namespace prof

#endif
