// Unpacks the records that the runtime of a rewritten program packed (libprof/format/trace.h: kTracePacked).

#ifndef PROF_INSTRUCTIONS_TRACE_PACKED_RECORDS_H
#define PROF_INSTRUCTIONS_TRACE_PACKED_RECORDS_H

#include <cstdint>
#include <string>
#include <string_view>

namespace prof {

// `size`: bytes that they are to become. Throws DamagedTrace if they do not.
std::string unpacked_records(std::string_view packed, uint64_t size);

}  // namespace prof

#endif
