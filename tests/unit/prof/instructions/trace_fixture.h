// Traces for tests, written and read.

#ifndef TESTS_UNIT_INSTRUCTIONS_TRACE_FIXTURE_H
#define TESTS_UNIT_INSTRUCTIONS_TRACE_FIXTURE_H

#include <string>
#include <vector>

#include "libprof/format/trace.h"
#include "prof/instructions/statistics/trace_counts.h"
#include "prof/instructions/trace/trace_listing.h"
#include "prof/instructions/trace/trace_reader.h"
#include "prof/instructions/trace/trace_writer.h"
#include "prof/views/text/output.h"
#include "tests/unit/prof_fixture.h"
#include "tests/unit/prof_printed.h"

namespace prof_test {

inline constexpr prof::TracedThread kThread{10, 11}, kOtherThread{10, 12};

inline prof::TraceAccess load(uint64_t address, uint32_t size) { return {.address = address, .size = size}; }
inline prof::TraceAccess store(uint64_t address, uint32_t size) {
  return {.address = address, .size = size, .is_write = true};
}

// What prof itrace prints of a trace.
struct Listed {
  std::string text;
  std::vector<std::string> remarks;
  bool is_partial = false;
};

inline Listed listed(const std::string& path, const prof::TraceFilter& filter = {},
                     prof::ListingForm form = prof::ListingForm::text) {
  Listed result;
  result.text = printed([&](prof::Output& out) {
    prof::TraceReader reader(path);
    prof::TraceNames names({}, false);
    prof::TraceListing listing(filter, form, names, out);
    reader.read(listing);
    listing.finish();
    result.remarks = reader.remarks();
    result.is_partial = reader.is_partial();
  });
  return result;
}

// Sums of a trace, as prof istat has them.
struct Counted {
  explicit Counted(const std::string& path) : reader(path), names({}, false), counts(names) {
    reader.read(counts);
    counts.finish();
  }
  // The instruction at an address; one that never ran if there is none.
  prof::CountedInstruction at(uint64_t address) const {
    for (const prof::CountedInstruction& in : counts.instructions())
      if (in.address == address) return in;
    return {};
  }

  prof::TraceReader reader;
  prof::TraceNames names;
  prof::TraceCounts counts;
};

}  // namespace prof_test

#endif
