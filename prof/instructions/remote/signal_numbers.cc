#include "signal_numbers.h"

#include <cstdint>

namespace prof::remote {

namespace {

constexpr uint8_t kUnknown = 143;  // of those that gdb has no name for, as SIGSTKFLT
// By the number that Linux has on this architecture.
constexpr uint8_t kNumbers[] = {0,  1,  2,  3,  4,  5,  6,  10, 8,  9,  30, 11, 31, 13, 14, 15, kUnknown,
                                20, 19, 17, 18, 21, 22, 16, 24, 25, 26, 27, 28, 23, 32, 12, 77};
constexpr int kSignals = sizeof kNumbers;  // from here on they are real-time signals
constexpr int kLast = 64, kNumberOfLast = 78, kNumberOfFirst = 45;

}  // namespace

int to_protocol_signal(int signal) {
  if (signal >= 0 && signal < kSignals) return kNumbers[signal];
  if (signal == kLast) return kNumberOfLast;
  return signal > kLast || signal < 0 ? kUnknown : kNumberOfFirst + signal - kSignals;
}

int from_protocol_signal(int number) {
  for (int signal = 1; signal <= kLast; ++signal) {
    if (to_protocol_signal(signal) == number) return signal;
  }
  return 0;
}

}  // namespace prof::remote
