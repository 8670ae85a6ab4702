// gprof -i: how many records a gmon.out has.

#ifndef PROF_GPROF_REPORT_FILE_INFO_H
#define PROF_GPROF_REPORT_FILE_INFO_H

#include <cstdint>
#include <string>
#include <string_view>

namespace prof::gprof {

struct RecordCounts {
  uint32_t version = 0;  // of the format; BSD's have none
  uint64_t histograms = 0, arcs = 0, blocks = 0;
};

// Of the bytes of a file that read_gmon (read/gmon_file.h) takes; of others what there is up to the first fault.
RecordCounts records_in(std::string_view bytes);

// As gprof says it.
std::string file_info(const std::string& path, const RecordCounts& counts);

}  // namespace prof::gprof

#endif
