// What lies where in the memory of the processes of a trace, up to the place in it that was read.

#ifndef PROF_INSTRUCTIONS_TRACE_TRACE_MEMORY_H
#define PROF_INSTRUCTIONS_TRACE_TRACE_MEMORY_H

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/format/trace.h"
#include "prof/sample/address_spaces.h"

namespace prof {

// The code of processes, as far as a trace has it: bytes of instructions that ran.
class CodeMemory {
 public:
  enum class Change { none, added, replaced };  // replaced: some byte was another one before

  Change set(uint32_t process, uint64_t address, std::string_view bytes);

  // As many bytes from the address on as are known, at most `size`.
  std::string bytes(uint32_t process, uint64_t address, size_t size) const;

  // Another program runs in the process.
  void forget(uint32_t process) { processes_.erase(process); }
  void fork(uint32_t child, uint32_t parent);

 private:
  static constexpr uint64_t kPage = 4096;
  struct Page {
    std::array<char, kPage> bytes = {};
    std::bitset<kPage> is_known;
  };
  using Pages = std::unordered_map<uint64_t, Page>;  // by address / kPage
  std::map<uint32_t, Pages> processes_;
};

// A part of a file that was mapped.
struct TraceModuleFile {
  std::string path, build_id;  // build_id: raw bytes; empty if it is not known
  uint64_t bias = prof_format::kUnknownBias;
};

// Where in a file an address is.
struct TracePlace {
  uint32_t module = 0;   // index into TraceMemory::modules
  uint64_t offset = 0;   // in the file
  uint64_t address = 0;  // in memory
};

class TraceMemory {
 public:
  // `bytes` of a chunk kChunkModule. Throws DamagedTrace.
  void map(uint32_t process, std::string_view bytes);
  // Of a chunk kChunkCode. True: some code is another one than before. Throws DamagedTrace.
  bool add_code(uint32_t process, std::string_view bytes);
  void set_code(uint32_t process, uint64_t address, std::string_view bytes) { code_.set(process, address, bytes); }

  void fork(uint32_t child, uint32_t parent);
  void exec(uint32_t process);

  const std::vector<TraceModuleFile>& modules() const { return modules_; }
  // False: no file is known to be there.
  bool find(uint32_t process, uint64_t address, TracePlace& to) const;
  // As many as are known of `size`.
  std::string code(uint32_t process, uint64_t address, size_t size) const {
    return code_.bytes(process, address, size);
  }

  // Of the module with this number, which chunks of blocks name. 0 if it is unknown.
  uint64_t bias_of(uint32_t process, uint32_t number) const;

 private:
  AddressSpaces spaces_;
  CodeMemory code_;
  std::vector<TraceModuleFile> modules_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> biases_;  // by process and number of the module
};

}  // namespace prof

#endif
