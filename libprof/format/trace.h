// The format of a trace: which instructions a program ran, one after the other, and which memory they touched. And what
// profld --trace puts into a program for the runtime, which writes one.
//
// Three write it: prof trace, which steps a program through gdbserver or through proftarget
// (prof/instructions/trace/trace_writer.h), and a program that `profld --trace` rewrote, whose runtime maps the file
// and leaves it as trace.<pid>.
//
//   TraceHeader                what the file is
//   TraceChunk, its bytes      appended, one after the other, each at a multiple of 8 bytes
//   TraceChunk, its bytes
//   ...
//   TraceChunk, TraceEnd       how the program ended: a trace without it is a part of one
//
// A reader may read while the file grows: the bytes of a chunk are there when its header is, but for windows (below). A
// chunk that goes on after the end of the file was torn, and so was what follows one without kChunkMagic. All that is
// in front of it holds.
//
// What chunks tell of one thread stands in the order in which it happened. Those of several threads stand in the order
// in which they were full. A module, or code, that changes stands in front of the first chunk with steps in it.
//
// Steps. What was stepped is written as runs: instructions that lie one after the other, and ran so. A run that
// occurred in the same chunk before is named by its number, and one that again follows the one that it followed the
// last time is counted only. So a chunk can be read without any other. Its bytes, once they are unpacked:
//
//   uint64_t size of the flow, in bytes; the flow; after it the addresses, up to the end of the chunk
//
// Both are varints (LEB128), "signed" ones with the sign in the lowest bit (0, -1, 1, -2, ... are 0, 1, 2, 3, ...).
//
//   flow:   0 start count instruction...   a run that is new: its start (signed, from the end of the run before; of the
//                                          first in a chunk: from 0), how many instructions it has, and what they are.
//                                          It gets the next number: 0, 1, 2, ...
//           1 times                        so many runs, each the one that followed the run before it the last time
//           2 event                        something happened (below) before the next run
//           3 + n                          run n
//   instruction:   length + 16 * accesses, and, if these are 15 or more (15 is written), how many more; for each
//                  access: size in bytes * 8 + kAccess... flags
//   addresses:     of each run that is named by the flow, of each of its accesses in their order: the address, signed,
//                  less what it was when that run ran last plus by how much it changed then; the first time: less the
//                  address before it in the chunk. An access of a repeated instruction (kAccessRepeated) has after it
//                  how often it was made: elements that follow each other, up, or with kAccessDown down, from the
//                  address.
//
//   event:  kind (TraceEventKind), how many values, the values
//
// An instruction with a prefix rep is one instruction, however often it repeats itself. What decides nothing is left
// out: without kTraceMemory there are no accesses.
//
// Blocks. A rewritten program writes records into windows: parts of the file that are mapped into its memory, each of
// them a chunk of kind kChunkBlocks, not packed. What is not written yet is 0, and is skipped. Windows are numbered
// (`sequence`) in the order in which they are begun, which is the order in which the chunks of a thread are to be read.
// A full one may be written after the end of the file, as a chunk with the same number, and be begun again, with the
// next one. So if two chunks have the same number, the first one holds, and what is torn of the second one is not
// missing. A window with number 0 holds nothing. If the number is another one after a reader has read what is in a
// window, that is not to be believed.
//
// A record is the number of a basic block + 1, in a word of 2 or 4 bytes. The block
// ran as a whole, and before it the one that the table says to have run there, if it names one. Else, if the table says
// that it is so (kBlockToldByWays), what ran before it is on the way to it from the block of the record before, through
// such as write none, of which there is one. A signal's handler may have written records in between
// (prof/instructions/trace/blocks.cc).
//
// With kTraceMemory, words have 4 bytes, and the values of the block that the table tells of stand after the word, 8
// bytes each. The number takes its lower bits (kRecordNumber). Those above say how many values there are, and the
// highest bit (kRecordIsWhole) that these are written, too. A record with values and without this bit was cut off: its
// program was killed, or a signal's handler jumped out of it. The table of blocks tells what a reader makes of the
// values: where accesses to memory were made.
//
// Such records may be packed (kTracePacked), each chunk by itself. A word has a slot (packed_slot). Each record is then
//
//   a byte: bit 0: the word follows; else it is the one that came after a word of the slot of the word before when that
//           slot was met last. (Before the first record it is slot 0.) Then, in two bits each, the forms of the first
//           three values
//   the word, 4 bytes, if it follows
//   for each value: less what the value number (slot + its place in the record) was last, 0 at first: form 0: the same;
//           form 1, 2, 3: the difference, signed, in 1, 2, 8 bytes. Before the fourth value, and each fourth one from
//           there on, stands a byte with the forms of four values
//
// A ring (kTraceRing) has the last windows only.
//
// Version 2 has no ways between blocks, nor flags of these. Version 1 has no windows that are begun again either, and
// nothing packed; there, the number counts the windows of one thread.
//
// All integers are little-endian. Readers believe nothing in it.

#ifndef LIBPROF_FORMAT_TRACE_H
#define LIBPROF_FORMAT_TRACE_H

#include <stdint.h>

namespace prof_format {

inline constexpr char kTraceMagic[8] = {'\x7f', 'P', 'T', 'R', 'C', '\r', '\n', '\x1a'};
inline constexpr uint32_t kTraceVersion = 3, kOldestTraceVersion = 1;
inline constexpr uint32_t kTraceByteOrder = 0x01020304;

// What wrote it.
enum TraceOrigin : uint32_t { kTraceGdbserver = 1, kTraceTarget = 2, kTraceInlined = 3 };

enum TraceFlags : uint32_t {
  kTraceMemory = 1,  // accesses to memory are in it
  kTraceRing = 2,    // only the last of it was kept
};

struct TraceHeader {
  char magic[8];
  uint32_t version;
  uint32_t byte_order;   // kTraceByteOrder
  uint32_t header_size;  // sizeof(TraceHeader); the first chunk is after it
  uint32_t origin;       // TraceOrigin
  uint32_t flags;        // TraceFlags
  uint32_t pid;          // of the program; of the first process if it has several
  uint64_t start_time;   // nanoseconds since 1970; 0 if unknown
  uint64_t reserved[3];
};

inline constexpr uint32_t kChunkMagic = 0x4b484354;  // "TCHK"

enum TraceChunkKind : uint16_t {
  kChunkCommand = 1,     // the path of the program, then its arguments: each ends with a 0 byte
  kChunkModule = 2,      // TraceModule: a file was mapped
  kChunkCode = 3,        // bytes that ran: TraceCode and its bytes, and again, up to the end
  kChunkSteps = 4,       // of one thread, see above
  kChunkBlocks = 5,      // of one thread, a window: see above
  kChunkBlockTable = 6,  // TraceBlocks
  kChunkEvents = 7,      // of one thread: events as in the flow of steps, one after the other
  kChunkEnd = 8,         // TraceEnd
  kChunkPadding = 9,     // nothing
};

enum TraceEncoding : uint8_t {
  kTraceRaw = 0,
  kTraceZstd = 1,    // one frame
  kTracePacked = 2,  // kChunkBlocks with values: see above
};

struct TraceChunk {
  uint32_t magic;     // kChunkMagic
  uint16_t kind;      // TraceChunkKind; readers pass over those that they do not know
  uint8_t encoding;   // TraceEncoding
  uint8_t word_size;  // kChunkBlocks: 2, 4 or 8 bytes
  uint32_t process;   // its number (pid)
  uint32_t thread;    // number of the thread (tid); 0: none
  uint64_t stored;    // bytes that follow; the next chunk begins at the next multiple of 8 after them
  uint64_t size;      // bytes once they are unpacked; raw: the same
  uint32_t module;    // kChunkBlocks, kChunkBlockTable: number of the module that the blocks are of
  uint32_t reserved;
  uint64_t sequence;  // kChunkBlocks: windows are numbered from 1; 0 elsewhere
};

// More is damage: bytes of a packed chunk once it is unpacked, and instructions of a chunk of steps.
inline constexpr uint64_t kMaxChunkBytes = uint64_t(1) << 24;
inline constexpr uint64_t kMaxChunkInstructions = uint64_t(1) << 25;

// After it the path, and the build-id: raw bytes.
struct TraceModule {
  uint64_t start, end;  // addresses in memory that the file, or a part of it, takes
  uint64_t offset;      // in the file of what is at `start`
  uint64_t bias;        // address in memory less link-time address; kUnknownBias: a reader finds it by the offset
  uint32_t number;     // of the module, as chunks of blocks have it; the ranges of one file share it, or have their own
  uint32_t path_size;  // bytes, without a 0 at the end
  uint32_t build_id_size;
  uint32_t reserved;
};
inline constexpr uint64_t kUnknownBias = ~uint64_t(0);

// After it the bytes.
struct TraceCode {
  uint64_t address;
  uint64_t size;
};

// The table of the blocks of a module. After it `blocks` TraceBlock, `operands` TraceOperand, the ways on from all
// blocks, 4 bytes each, and `code_size` bytes of code: those of all blocks, one after the other.
struct TraceBlocks {
  uint64_t blocks, operands, code_size;
  uint32_t block_size;    // sizeof(TraceBlock)
  uint32_t operand_size;  // sizeof(TraceOperand)
};

struct TraceBlock {
  uint64_t address;       // in the original program, link-time: the bias of the module is added
  uint64_t code;          // where its bytes begin in those of the table
  uint32_t size;          // bytes of its code
  uint32_t instructions;  // which these bytes are
  uint32_t operands;      // TraceOperand, after those of the block before
  uint16_t values;        // that follow the word of each execution, its own or that of the block after it
  uint16_t flags;         // TraceBlockFlags
  // Number + 1 of a block that ran just before it and wrote no word; 0: none. A block without code stands for the
  // blocks before it alone. At most kMaxBlocksBefore follow each other so.
  uint32_t before;
  uint32_t next;  // ways on from it, after those of the block before: numbers of blocks. None: control leaves there
};

inline constexpr uint32_t kMaxBlocksBefore = 256;

enum TraceBlockFlags : uint16_t {
  kBlockWrites = 1,      // it writes words; versions 1 and 2 do not say so
  kBlockToldByWays = 2,  // what ran before it is on the way to it from the block before that wrote a word
  kBlockFromOutside =
      4,  // it, or the first one that `before` leads to, may be where a handler of a signal begins, and the like
};

// An access to memory in a block: in the order in which they happen. Its address is the sum of `addend`, and of those
// of its values that are there (kNoValue: not there).
struct TraceOperand {
  uint32_t instruction;  // which of the block's, from 0
  uint16_t size;         // bytes
  uint8_t flags;         // kAccess...
  uint8_t form;          // kAddress...
  uint16_t base;         // the value that is added
  uint16_t index;        // the value that is multiplied first (kAddressScale)
  uint16_t segment;      // the base of a segment register, which is added last; if this is 0 it is not known
  uint16_t count;        // kAccessRepeated: how often; kAddressBit: which bit
  int64_t addend;
};
inline constexpr uint16_t kNoValue = 0xffff;

enum TraceAddressForm : uint8_t {
  kAddressScale = 3,       // these bits: the index is multiplied by 1, 2, 4 or 8
  kAddressOfModule = 4,    // the addend is link-time: the bias of the module is added
  kAddressShort = 8,       // the sum has 32 bits
  kAddressByteIndex = 16,  // the lowest byte of the index alone
  kAddressBit = 32,        // the word of `size` bytes that has the bit number `count`, counted from there
  kAddressFlags = 64,      // the index is none, but the processor's flags: kDirectionFlag in them is kAccessDown
  kAddressUnknown = 128,   // the trace cannot tell the address
};

inline constexpr uint64_t kDirectionFlag = 0x400;

inline constexpr uint32_t kRecordNumber = 0xffffff, kRecordIsWhole = 0x80000000;
inline constexpr unsigned kRecordValuesShift = 24;
inline constexpr uint32_t kMaxRecordValues = 0x7f;

// With kTraceMemory: whether this is the word of a record, and its values are written.
constexpr bool is_whole_record(uint32_t word) {
  return word != 0 && ((word & kRecordIsWhole) != 0 || word >> kRecordValuesShift == 0);
}

// Of packed records.
inline constexpr unsigned kPackedBits = 14;
inline constexpr uint32_t kPackedSlots = uint32_t(1) << kPackedBits;
inline constexpr unsigned kLastPackedShift = 6;  // of a form in its byte
constexpr uint32_t packed_slot(uint32_t word) { return word * 0x9e3779b1u >> (32 - kPackedBits); }
constexpr uint32_t packed_length(uint32_t form) { return 0x8210u >> 4 * form & 0xf; }  // bytes

enum TraceAccessFlags : uint8_t {
  kAccessWrite = 1,     // a store; else a load. What does both is two accesses.
  kAccessRepeated = 2,  // of rep: has a count
  kAccessDown = 4,      // repeated with the direction flag set
};

enum TraceEventKind : uint32_t {
  kEventThreadBegin = 1,  // the thread's number
  kEventThreadEnd = 2,    // the thread's number
  kEventFork = 3,         // the child's number
  kEventExec = 4,         // no values: all modules are forgotten
  kEventSignal = 5,       // the signal's number: it reaches the thread here
  kEventSystemCall =
      6,           // number; result (two's complement); then for each range of memory that the kernel read or wrote:
                   // address, bytes, flags (kAccessWrite: the kernel wrote)
  kEventLost = 7,  // so many instructions are missing here; 0: it is not known how many
};

enum TraceEndReason : uint32_t {
  kEndExit = 1,      // status: the exit status
  kEndSignal = 2,    // status: the signal
  kEndLimit = 3,     // the file was not to be larger (--limit)
  kEndDiskFull = 4,  // status: the errno value
  kEndLink = 5,      // the link to the target broke
  kEndDetached = 6,  // lacks what a thread ran: no memory, or no room, for its records
};

struct TraceEnd {
  uint32_t reason;        // TraceEndReason
  uint32_t status;        // see there
  uint64_t instructions;  // all that were written; kUnknownTotal if the writer did not count
  uint64_t accesses;      // the same
};
inline constexpr uint64_t kUnknownTotal = ~uint64_t(0);

static_assert(sizeof(TraceHeader) == 64 && sizeof(TraceChunk) == 48 && sizeof(TraceModule) == 48);
static_assert(sizeof(TraceBlocks) == 32 && sizeof(TraceBlock) == 40 && sizeof(TraceOperand) == 24 &&
              sizeof(TraceEnd) == 24);

// What profld --trace puts into a rewritten program for the runtime. The program header of type kTraceSegment says
// where it lies, in pages of its own:
//
//   TraceWords    at the start of the first page: those of the threads that have none of their own yet. Code refers to
//                 them by the segment register gs, whose base is the distance from them to the thread's own.
//   TraceProgram  at the start of the second page; after it the table of blocks, as in a trace (TraceBlocks)

inline constexpr uint32_t kTraceSegment = 0x6f507254;
inline constexpr uint64_t kTraceProgramOffset = 4096;

struct TraceWords {
  uint64_t cursor;          // address of the next record
  uint64_t limit;           // a record at this address or after it needs the runtime first
  uint64_t reads_segments;  // not 0: the processor and the kernel let programs read the base of fs (rdfsbase)
};

struct TraceProgram {
  uint64_t table_size;  // bytes
  uint32_t word_size;   // bytes of a word in windows: 2 or 4
  uint32_t has_memory;  // 1: records have values after the word (kTraceMemory)
};

}  // namespace prof_format

#endif
