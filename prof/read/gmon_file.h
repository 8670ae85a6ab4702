// gmon.out: what such a file holds, and how it is read.

#ifndef PROF_READ_GMON_FILE_H
#define PROF_READ_GMON_FILE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace prof {

// What a file gmon.out holds, whichever of its formats it has: GNU's, BSD's or that of 4.4BSD.
//
// Addresses are those of the original file, as the linker gave them.

// Samples by address: bin i counts those from low + i * (high - low) / bins.size() on.
struct GmonHistogram {
  uint64_t low = 0, high = 0;
  uint32_t rate = 0;  // ticks per second, or per whatever the dimension is
  std::string dimension = "seconds";
  char abbreviation = 's';
  std::vector<uint64_t> bins;
};

// Calls from an address in the caller: of the calling instruction if that is known, else of the function.
struct GmonArc {
  uint64_t from = 0, to = 0, calls = 0;
  bool is_estimate = false;  // shared by samples. No file has room for this
};

// Executions of the basic block that begins at an address.
struct GmonBlock {
  uint64_t address = 0, count = 0;
};

struct Gmon {
  std::vector<GmonHistogram> histograms;
  std::vector<GmonArc> arcs;
  std::vector<GmonBlock> blocks;
};

// Files gmon.out, read: those of programs that gcc -pg built, of prof -g, and of others that write them for gprof.
//
// There are three formats. GNU's begins with "gmon"; then come records of three kinds in any order, each after a byte
// that is its kind: histograms, arcs, and counts of basic blocks. BSD's old one has no such beginning: it is the bounds
// of one histogram, its size, its bins, and arcs up to the end. That of 4.4BSD is the same with a longer header, which
// has a version and a rate. (gprof/gmon_out.h of binutils; sys/gmon.h of 4.4BSD.)
//
// The numbers are in the byte order, and addresses of the word size, of the machine that wrote the file, and in none of
// the formats does the file say which. So a file that cannot be read as one of x86-64 is tried as one of others, only
// to tell the user what it is.

// Whether a file's first bytes are those of a gmon.out, of whatever machine. False if it cannot be read.
bool is_gmon_file(const std::string& path);

// Records of the same range of addresses are added up. Throws Error if the file cannot be read, or is damaged, of
// another machine, or what gprof would refuse: histograms that overlap, or have bins of different sizes or units.
Gmon read_gmon(const std::string& path);

// The same of the bytes of a file. `name` is what errors call it.
Gmon decode_gmon(std::string_view bytes, const std::string& name);

// Adds a file, which errors call `name`, to others. Throws Error if their histograms do not go together.
void add_gmon(Gmon& sum, Gmon more, const std::string& name);

}  // namespace prof

#endif
