// What profld -b puts into a rewritten program for readers, to turn counters into executions of basic blocks: the
// section .prof.blocks. Not mapped at run time.
//
// A block leads from one place of its function to another: its places are where paths meet. Control that comes to a
// place goes on from there, so the counts of the blocks that lead to it add up to those of the blocks that lead away
// from it. Place 0 is all that is outside of the function, for which that does not hold. Some of the blocks have
// counters. Those that have none make no circle, whatever the direction: at some place there always is a single one
// whose count is not known yet, and it follows from those of the others there.
//
// Code that stands several times in the copy has an entry for each time, with the same place and a counter of its own:
// the counts add up.
//
// An entry of 0 bytes, or kMarked, is no block. It is a way on from a conditional jump, which may have a counter,
// between two places; or, if its counter says so (kTarget), what an indirect jump may lead to. These come after the
// function's blocks.
//
// Counter i of a thread, or of all threads, is word i of the counters (format.h, Counters).
//
// Little-endian.

#ifndef LIBPROF_FORMAT_BLOCKS_H
#define LIBPROF_FORMAT_BLOCKS_H

#include <stdint.h>

namespace prof_format {

inline constexpr char kBlocksSection[] = ".prof.blocks";
inline constexpr char kBlocksMagic[8] = {'P', 'R', 'O', 'F', 'B', 'L', 'K', '3'};
// The same where increments have the prefix lock, so that they take much longer.
inline constexpr char kLockedBlocksMagic[8] = {'P', 'R', 'O', 'F', 'B', 'L', 'K', '4'};
// Of older copies, which say nothing of targets, and of ways not whether they lead to a jump's target.
inline constexpr char kOldBlocksMagic[8] = {'P', 'R', 'O', 'F', 'B', 'L', 'K', '1'};
inline constexpr char kOldLockedBlocksMagic[8] = {'P', 'R', 'O', 'F', 'B', 'L', 'K', '2'};

struct BlocksHeader {
  char magic[8];
  uint32_t function_size;  // sizeof(BlockFunction); a later version may make both longer
  uint32_t block_size;     // sizeof(BlockEntry)
  uint64_t functions;      // BlockFunction structures that follow
  uint64_t blocks;         // BlockEntry structures after them: those of the first function, then of the second, ...
  uint64_t counters;       // words
};

struct BlockFunction {
  uint64_t entry;   // address in the original
  uint32_t blocks;  // how many entries it has
  uint32_t places;  // numbered from 0
};

struct BlockEntry {
  int32_t offset;    // of its first instruction in the original, from the entry
  uint32_t size;     // bytes; 0 or kMarked: a way, or a target
  uint32_t from;     // the place that it begins at
  uint32_t to;       // the place that it ends at
  uint32_t counter;  // kNoCounter: it has none
};

inline constexpr uint32_t kNoCounter = 0xffffffff;

// Sizes of what is no block. A way whose offset is that of the end of its jump leads to the target of that if it is
// marked, else to the next instruction. A target is marked if it is probably none, as the table seems to end before it.
inline constexpr uint32_t kMarked = 0x80000000;

// The jump at the end of the function's block whose number, from 0, is in the other bits may lead to the block at the
// entry's offset. All that it may lead to is listed, or nothing. `from` and `to` are the place where both meet.
inline constexpr uint32_t kTarget = 0x80000000;

// For the runtime: the program header of this type says where the counters lie that threads without ones of their own
// use. Code increments them by instructions with the segment register gs, whose base is the distance from them to the
// thread's own counters. They fill whole pages.
inline constexpr uint32_t kCountersSegment = 0x6f50524f;

// The same of a library, and of a program that uses gs itself: all threads increment the counters that lie there.
inline constexpr uint32_t kSharedCountersSegment = 0x6f507263;

// Of a library without hooks: the program header of this type says where the list of its increments lies, as the
// runtime has to know them to change them; of a program that has flags, an empty list. An IncrementsHeader, and after
// it, for each counter, the distance from the header to its increment (int32_t, bytes).
//
// An increment begins with three bytes for prefixes, which mean nothing in the file. Two of them say what is
// incremented, those that can be stored at once while others run the code (increment_prefixes).
inline constexpr uint32_t kIncrementsSegment = 0x6f507269;

struct IncrementsHeader {
  uint32_t count;
  uint32_t flags;
};

inline constexpr uint32_t kMakesThreads = 1;  // of which the runtime may not be told
inline constexpr uint32_t kHasFork = 2;       // it is the C library: in a child, its code is the first that runs

// The two bytes, in one word.
inline constexpr uint16_t kIncrementAlone = 0x6666;   // data16 data16: the counter of the only thread
inline constexpr uint16_t kIncrementOwn = 0x6567;     // addr32 gs: that of each thread, where gs leads
inline constexpr uint16_t kIncrementLocked = 0x66f0;  // lock data16: that of all threads

// Where they lie in an increment that begins at `address`: in one aligned word of eight bytes.
inline constexpr uint64_t increment_prefixes(uint64_t address) { return address % 8 == 7 ? address + 1 : address; }

}  // namespace prof_format

#endif
