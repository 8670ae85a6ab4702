// Which function of a program or a library is at an address of its original file.

#ifndef PROF_MODEL_PROGRAM_CODE_PLACES_H
#define PROF_MODEL_PROGRAM_CODE_PLACES_H

#include <cstdint>
#include <optional>
#include <vector>

#include "functions.h"

namespace prof {

// Where functions, and parts of functions, begin. Each goes on up to where the next begins.
class CodePlaces {
 public:
  // Of an object of the table, which grows by the functions that are found. It must outlive this.
  CodePlaces(FunctionTable& functions, uint32_t object);

  // Index of the function in the table; none if the address is in front of all, or no code.
  std::optional<uint32_t> function_at(uint64_t address) const;

  // The next address behind this one, in units of so many bytes, at which a function begins; UINT64_MAX if there is none.
  uint64_t next_start(uint64_t unit_number, uint64_t unit) const;

 private:
  bool is_code(uint64_t address) const;

  FunctionTable& functions_;
  uint32_t object_;
  std::vector<uint64_t> starts_;
};

}  // namespace prof

#endif
