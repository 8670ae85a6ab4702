// Which files lie where in the memory of the processes that are sampled, as they map, fork and exec.

#ifndef PROF_SAMPLE_ADDRESS_SPACES_H
#define PROF_SAMPLE_ADDRESS_SPACES_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

namespace prof {

class AddressSpaces {
 public:
  // A range of memory with code in it, from `offset` in a file on.
  struct Mapping {
    uint64_t start = 0, end = 0;
    uint64_t offset = 0;
    uint32_t module = 0;  // a number of the caller's
  };

  // What happened in a process, in this order.
  void map(uint32_t process, const Mapping& mapping);  // takes the place of what was there
  void fork(uint32_t process, uint32_t parent);
  void exec(uint32_t process);
  void begin_thread(uint32_t process);
  void end_thread(uint32_t process);  // the process is forgotten after its last one

  // The mapping that has an address, or null. Valid until something happens.
  const Mapping* find(uint32_t process, uint64_t address) const;

 private:
  using Mappings = std::map<uint64_t, Mapping>;  // by start; they do not overlap
  struct Process {
    std::shared_ptr<Mappings> mappings;  // a child's are its parent's until one of them changes its own
    uint32_t threads = 1;
  };
  Process& process(uint32_t number);
  std::unordered_map<uint32_t, Process> processes_;
};

}  // namespace prof

#endif
