// Which bytes of gdbserver's packet `g` are which register.
//
// gdbserver describes the registers of its target in XML, in a file that includes others: each register has a name, a size in
// bits and, where it does not just follow the one before, a number. In `g` they stand in the order of their numbers.

#ifndef PROF_INSTRUCTIONS_REMOTE_TARGET_DESCRIPTION_H
#define PROF_INSTRUCTIONS_REMOTE_TARGET_DESCRIPTION_H

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "registers.h"

namespace prof::remote {

class TargetDescription {
 public:
  // `file` gives the text of a file by its name, "" if there is none. The first is "target.xml". Throws Error if a register
  // is missing that addresses are computed from.
  explicit TargetDescription(const std::function<std::string(const std::string& name)>& file);

  // Of the bytes of a packet `g`; false if it is too short.
  bool read(std::string_view bytes, Registers& to) const;
  VectorRegisters vectors(std::string_view bytes) const;

 private:
  struct Place {
    size_t offset = 0, size = 0;  // bytes
  };
  const Place* find(const std::string& name) const;

  std::map<std::string, Place> places_;
};

}  // namespace prof::remote

#endif
