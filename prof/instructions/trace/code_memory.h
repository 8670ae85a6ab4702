// The code of processes, as far as a trace has it: bytes of instructions that ran.

#ifndef PROF_INSTRUCTIONS_TRACE_CODE_MEMORY_H
#define PROF_INSTRUCTIONS_TRACE_CODE_MEMORY_H

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace prof {

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

}  // namespace prof

#endif
