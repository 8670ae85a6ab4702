// Puts the program-counter histogram together, of profiles that were sampled or of a file of samples.

#ifndef PROF_MODEL_TREE_HISTOGRAM_H
#define PROF_MODEL_TREE_HISTOGRAM_H

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "prof/model/program/functions.h"
#include "prof/read/copy_steps.h"
#include "prof/read/profile.h"

namespace prof {

// Samples that found a thread at one instruction, outside the kernel.
struct AddressSamples {
  uint32_t object = 0;   // index into FunctionTable::objects
  uint64_t address = 0;  // in the instruction, in the original, link-time
  uint64_t samples = 0;
};

class Histogram {
 public:
  // Adds the addresses of a profile (PROFTYPE=sample, or of a program without hooks). The table gets the libraries that
  // they are in. Addresses in no file are left out.
  void add(const Profile& profile, FunctionTable& functions);

  // Adds samples at an address (link-time) of the original of an object.
  void add(uint32_t object, uint64_t address, uint64_t samples);

  // Samples that are in it, and those that found no room in a profile.
  uint64_t all() const { return all_; }
  uint64_t without_room() const { return without_room_; }

  // By object and address. To be called once.
  std::vector<AddressSamples> finish();

 private:
  void add_node(const Profile& profile, const RecordedNode& node, FunctionTable& functions);

  std::map<std::pair<uint32_t, uint64_t>, uint64_t> counts_;
  std::map<uint32_t, CopySteps> steps_;  // by object
  uint64_t all_ = 0, without_room_ = 0;
};

}  // namespace prof

#endif
