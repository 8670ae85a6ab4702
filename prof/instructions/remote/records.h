// What proftarget tells of the steps of a program: records, many to a packet.
//
// A packet is
//
//   kRecords process thread definitions-size definitions records...
//
// and so the records in it are of one thread. All numbers are varints (LEB128), "signed" ones with the sign in the
// lowest bit. A definition says which bytes stand at an address; it holds for all steps there, of all threads of the
// process, until there is another one. A record begins with a byte:
//
//   0 + n             step; register n (RegisterNumber, without the instruction pointer) has another value than before
//                     the step before; its difference, signed, follows
//   record_step       step; a set of such registers follows, as a number with a bit for each, and their differences
//   record_again      step at the address of the step before
//   record_vectors    what vector registers have now that differs: a set of registers, for each how many bytes, and the
//                     bytes, the rest being zeros; a set of mask registers, for each its value
//   record_event      TraceEventKind, how many values, the values
//   record_block      so many instructions ran, one after the other, from the address of the next record on (see below)
//   record_maps       size, text: the memory of the process is now as /proc/PID/maps has it
//
// After what a step says of registers follows its address, signed, less that of the step before. All is as it was
// before the step; a step is told when it has been made. The first registers of a thread differ from 0.
//
// Block steps: record_block is followed by the address, signed, and how many instructions there are. Their registers
// are not known, but for those of the first.

#ifndef PROF_INSTRUCTIONS_REMOTE_RECORDS_H
#define PROF_INSTRUCTIONS_REMOTE_RECORDS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "registers.h"

namespace prof::remote {

enum RecordByte : uint8_t { record_step = 32, record_again, record_vectors, record_event, record_block, record_maps };

constexpr char kRecords = 'X';  // the first byte of a packet of records

// Appends records of one thread to a buffer.
class RecordWriter {
 public:
  void step(const Registers& before);
  void block(uint64_t address, uint64_t instructions);
  void vectors(const VectorRegisters& now);
  void event(uint64_t kind, const std::vector<uint64_t>& values);
  void maps(std::string_view text);

  size_t size() const { return bytes_.size(); }
  // What was written; the buffer is empty after it.
  std::string take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
  Registers last_ = {};
  VectorRegisters last_vectors_;
};

void add_varint(std::string& to, uint64_t value);
void add_signed(std::string& to, uint64_t value);

// A definition.
void add_definition(std::string& to, uint64_t address, std::string_view code);

// The payload of a packet.
std::string records_packet(uint32_t process, uint32_t thread, std::string_view definitions, std::string_view records);

// What a packet of records is read as. Each call says one thing, in the order in which it happened.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void definition(uint64_t address, std::string_view code) = 0;
  virtual void step(const Registers& before, const VectorRegisters& vectors) = 0;
  virtual void block(uint64_t address, uint64_t instructions) = 0;
  virtual void event(uint64_t kind, const std::vector<uint64_t>& values) = 0;
  virtual void maps(std::string_view text) = 0;
};

struct RecordsHeader {
  uint32_t process = 0, thread = 0;
  std::string_view definitions, records;  // parts of the payload
};

// Nothing if the payload is damaged.
std::optional<RecordsHeader> records_header(std::string_view payload);

// Reads the records of one thread, packet after packet.
class RecordReader {
 public:
  // False if they are damaged; what was read before that was told.
  bool read(const RecordsHeader& packet, RecordSink& sink);

 private:
  Registers last_ = {};
  VectorRegisters vectors_;
};

}  // namespace prof::remote

#endif
