// The instructions of functions as they were before profld rewrote them, and how often each ran.

#ifndef PROF_MODEL_BLOCKS_DISASSEMBLY_H
#define PROF_MODEL_BLOCKS_DISASSEMBLY_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "prof/model/tree/recorded.h"

namespace prof {

struct DisassembledInstruction {
  uint64_t address = 0;
  std::optional<uint64_t> executions = {};
  std::string text;  // as AT&T writes it; after it what it refers to: <main+0x1c>
  // What it was made of: a path as the compiler saw it; empty, and 0, if nothing tells.
  std::string file;
  uint32_t line = 0;
  SampledPart self = {};  // samples that found a thread there
};

struct DisassembledFunction {
  uint32_t function = 0;
  uint32_t host = 0;  // the function that has the code: another one, if it is inlined, and then only its part is here
  std::vector<DisassembledInstruction> instructions;
  std::optional<int64_t> made = {};  // when the program was made, if that is known
};

struct Disassembly {
  bool has_executions = false;  // blocks were counted
  bool has_samples = false;     // of instructions
  std::vector<DisassembledFunction> functions;
  std::vector<std::string> remarks;  // on what is missing
};

// Of functions that were recorded. What was inlined is looked for where it has samples, in each function apart.
Disassembly disassemble(const Recorded& recorded, const std::vector<uint32_t>& functions, const DebugSearch& search);

}  // namespace prof

#endif
