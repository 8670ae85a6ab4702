// Files gmon.out, read: those of programs that gcc -pg built, of prof -g, and of others that write them for gprof.
//
// There are three formats. GNU's begins with "gmon"; then come records of three kinds in any order, each after a byte
// that is its kind: histograms, arcs, and counts of basic blocks. BSD's old one has no such beginning: it is the bounds
// of one histogram, its size, its bins, and arcs up to the end. That of 4.4BSD is the same with a longer header, which
// has a version and a rate. (gprof/gmon_out.h of binutils; sys/gmon.h of 4.4BSD.)
//
// The numbers are in the byte order, and addresses of the word size, of the machine that wrote the file, and in none of the
// formats does the file say which. So a file that cannot be read as one of x86-64 is tried as one of others, only to tell
// the user what it is.

#ifndef PROF_READ_GMON_FILE_H
#define PROF_READ_GMON_FILE_H

#include <string>
#include <string_view>

#include "gmon.h"

namespace prof {

// Whether a file's first bytes are those of a gmon.out, of whatever machine. False if it cannot be read.
bool is_gmon_file(const std::string& path);

// Records of the same range of addresses are added up. Throws Error if the file cannot be read, or is damaged, of another
// machine, or what gprof would refuse: histograms that overlap, or have bins of different sizes or units.
Gmon read_gmon(const std::string& path);

// The same of the bytes of a file. `name` is what errors call it.
Gmon decode_gmon(std::string_view bytes, const std::string& name);

// Adds a file, which errors call `name`, to others. Throws Error if their histograms do not go together.
void add_gmon(Gmon& sum, Gmon more, const std::string& name);

}  // namespace prof

#endif
