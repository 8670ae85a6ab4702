// gmon.out, written.

#ifndef PROF_VIEWS_RUN_GMON_WRITER_H
#define PROF_VIEWS_RUN_GMON_WRITER_H

#include "prof/read/gmon_file.h"
#include "prof/views/text/output.h"

namespace prof {

// In GNU's format, version 1: histograms, then arcs, then basic blocks, all in the order in which they are there. Throws
// Error if the numbers in it are so great that the file would be too large.
void print_gmon(const Gmon& gmon, Output& out);

}  // namespace prof

#endif
