// The header of a profile, and what the first bytes of a file tell.

#ifndef PROF_READ_HEADER_H
#define PROF_READ_HEADER_H

#include <cstdint>
#include <string>

#include "libprof/format/format.h"

namespace prof {

// The header of a profile. Throws Error if `path` cannot be read or is no profile that this program understands.
prof_format::Header read_header(const std::string& path);

// The same of a file that is open as `fd`; `path` is for errors. `size` is set to the size of the file, in bytes.
// Looked up after the header was read, it is not less than the header says, even if the file is growing.
prof_format::Header read_header(int fd, const std::string& path, uint64_t& size);

// Reads what may be a header, without checking more of it than its magic. Returns false if the file is no profile.
bool peek_at_header(const std::string& path, prof_format::Header& header);

// Whether the stamps of its threads are of their own clocks, which tell time on a processor; and whether its nodes hold
// what they waited.
bool uses_cpu_clock(const prof_format::Header& header);
bool has_waiting(const prof_format::Header& header);

// Whether its nodes know how long calls lasted.
bool has_durations(const prof_format::Header& header);

// Whether it has numbers of samples where others have cycles.
bool is_sampled(const prof_format::Header& header);

// The first bytes of a file tell a profile from a program.
enum class FileKind { profile, elf, other };

// Throws Error if the file cannot be opened or is not a regular file.
FileKind kind_of_file(const std::string& path);

}  // namespace prof

#endif
