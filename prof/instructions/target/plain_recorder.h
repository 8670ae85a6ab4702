// Records what plain_code.h runs: each instruction with its registers, or how many ran one behind the other.

#ifndef PROF_INSTRUCTIONS_TARGET_PLAIN_RECORDER_H
#define PROF_INSTRUCTIONS_TARGET_PLAIN_RECORDER_H

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plain_code.h"
#include "prof/instructions/remote/records.h"

namespace prof::target {

class PlainRecorder : public PlainCode::Watcher {
 public:
  PlainRecorder(remote::RecordWriter& records, bool by_blocks) : records_(records), by_blocks_(by_blocks) {}

  void found(uint64_t address, std::string_view bytes, size_t size, uint64_t next) final;
  void ran(const PlainState& before, size_t size) final;
  // What has run is in the records.
  void finish();

 protected:
  virtual void define(uint64_t address, std::string_view bytes) = 0;
  virtual void learn(uint64_t address, std::string_view code, uint64_t next) = 0;  // for blocks
  virtual void has_recorded() = 0;

 private:
  remote::RecordWriter& records_;
  const bool by_blocks_;
  uint64_t start_ = 0, end_ = 0, count_ = 0;  // instructions one behind the other, not recorded yet
};

}  // namespace prof::target

#endif
