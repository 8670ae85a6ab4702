// The program-counter histogram of a program that was sampled.

#ifndef PROF_MODEL_ADDRESS_SAMPLES_H
#define PROF_MODEL_ADDRESS_SAMPLES_H

#include <cstdint>

namespace prof {

// Samples that found a thread at one instruction, outside the kernel.
struct AddressSamples {
  uint32_t object = 0;   // index into FunctionTable::objects
  uint64_t address = 0;  // in the instruction, in the original, link-time
  uint64_t samples = 0;
};

}  // namespace prof

#endif
