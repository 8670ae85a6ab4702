// A gmon.out of what is known of a run: gprof's view of it. (Its histograms: see histogram_borders.)
//
// Exact times fit into a histogram: one of one bin for each function, two bytes wide (gprof's unit of code), at the
// function's entry, with a tick of a microsecond or whatever lets the longest time fit.
//
// Samples (PROFTYPE=sample, prof run --true) are a histogram as gcc -pg writes it: ticks by address, in several ranges,
// for what is between them was not run. So gprof -l tells lines. Time in libraries and in the kernel is in none, as
// with gcc -pg.
//
// What does not fit: contexts (gprof spreads a function's time over its callers by their share of the calls), and
// functions of several files, since gprof knows the addresses of one. So the program and each of its libraries have a
// gmon.out of their own, and a call from one to another is none in either: its caller is outside. The time of imports
// is given to the functions that call them.
//
// Counts of basic blocks: `gprof -l -A` shows no count at a line in the middle of a block, and with -x that of the line
// above it in the source, wherever control came from. A block of several lines therefore has its count at each of them
// as well.
//
// Addresses are those of the original file, as the linker gave them, so that `gprof ORIGINAL gmon.out` works.

#ifndef PROF_MODEL_GMON_GMON_OF_H
#define PROF_MODEL_GMON_GMON_OF_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "prof/model/blocks/call_sites.h"
#include "prof/model/program/debug_files.h"
#include "prof/model/program/object.h"
#include "prof/model/tree/recorded.h"
#include "prof/read/gmon_file.h"

namespace prof {

// The histograms of a gmon.out that is written.
//
// Bins are two bytes of code, the least that gprof knows, so that no bin is of two functions. Most of a program's code
// has no time, and a file with a bin for all of it would be as large as the program. So there are several histograms,
// and none where no time was.
//
// gprof wants two things of them. Those of several files that it adds up must be of the same addresses, or have none in
// common: so where they begin and end depends on the program only. And -c gives up if a symbol of its own lies in two
// of them: so they begin only where symbols begin that gprof is sure to know, global functions, which it drops neither
// for their names nor for -a.

// Addresses, ascending and even, in the original, where a histogram of an object begins, or the one before ends.
std::vector<uint64_t> histogram_borders(const Object& object);

// `ticks`: by address, an even one. `rate`: ticks of a second.
std::vector<GmonHistogram> histograms_at(const std::map<uint64_t, uint64_t>& ticks,
                                         const std::vector<uint64_t>& borders, uint32_t rate);

// What a program or a library, an index into FunctionTable::objects, did in a run: at least one histogram, since
// without any gprof prints no flat profile; arcs in order of addresses; blocks, if they were counted. Numbers are as
// great as they are. `calls_left_out`, if it is not null, is set to the number of calls from outside that have no
// caller to be shown with. `sites`: where calls stand, of which arcs are then; else they are of functions.
Gmon gmon_of(const Recorded& recorded, uint32_t object, uint64_t* calls_left_out = nullptr,
             const std::vector<CallSite>& sites = {});

// What there is to say of callers that are estimated from samples, which gprof shows without a mark; "" if none is.
std::string remark_on_estimates(const Gmon& gmon);

// Adds to the blocks of an object's gmon.out those of their addresses at which the code of another line begins. Nothing
// without debug information, which is looked for as `search` says.
void add_line_starts(Gmon& gmon, const Recorded& recorded, uint32_t object, const DebugSearch& search);

// An address that stands for the callers outside an object, and its name. Without a caller gprof would not show calls.
// The program's main is called by _start, through libc. Of a library it is an address that no function has: that of
// _init, which gprof knows if it knows any names, or one in front of all others. None if there is no such address.
std::optional<uint64_t> outside_of_object(const Recorded& recorded, uint32_t object);
const char* name_of_outside(uint32_t object);

}  // namespace prof

#endif
