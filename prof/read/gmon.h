// What a file gmon.out holds, whichever of its formats it has: GNU's, BSD's or that of 4.4BSD.
//
// Addresses are those of the original file, as the linker gave them.

#ifndef PROF_READ_GMON_H
#define PROF_READ_GMON_H

#include <cstdint>
#include <string>
#include <vector>

namespace prof {

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

}  // namespace prof

#endif
