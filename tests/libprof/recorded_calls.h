// What a profile says of calls, for a test that reads thousands of profiles.

#ifndef TESTS_LIBPROF_RECORDED_CALLS_H
#define TESTS_LIBPROF_RECORDED_CALLS_H

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "libprof/format/format.h"

class RecordedCalls {
 public:
  // The calls in all contexts and threads are added to *calls, by Node::pc, tail calls among them. False if the profile is damaged or lost some.
  static bool read(const std::string& path, std::map<uint64_t, uint64_t>* calls) {
    std::ifstream file(path, std::ios::binary);
    const RecordedCalls profile({std::istreambuf_iterator<char>(file), {}});
    const auto* header = profile.at<prof_format::Header>(0);
    if (!header || std::memcmp(header->magic, prof_format::kMagic, sizeof prof_format::kMagic) != 0) return false;
    for (prof_format::Block b = header->first_thread; b != 0;) {
      const auto* thread = profile.at<prof_format::Thread>(b);
      if (!thread || !profile.add_below(thread->root, calls)) return false;
      b = thread->next;
    }
    return header->lost == 0;
  }

 private:
  explicit RecordedCalls(std::string bytes) : bytes_(std::move(bytes)) {}

  template <class T>
  const T* at(prof_format::Block b) const {
    const size_t offset = size_t(b) << PROF_BLOCK_SHIFT;
    return offset + sizeof(T) > bytes_.size() ? nullptr : reinterpret_cast<const T*>(bytes_.data() + offset);
  }

  bool add_below(prof_format::Block block, std::map<uint64_t, uint64_t>* calls) const {
    const auto* node = at<prof_format::Node>(block);
    if (!node) return false;
    for (prof_format::Block b = node->child; b != 0;) {
      const auto* child = at<prof_format::Node>(b);
      if (!child || !add_below(b, calls)) return false;
      (*calls)[child->pc & ~prof_format::kKindOfCall] += child->count;
      b = child->sibling;
    }
    return true;
  }

  std::string bytes_;
};

#endif
