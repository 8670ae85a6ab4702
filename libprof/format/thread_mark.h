// What a static program's initial image of thread-local storage holds directly in front of the runtime's own.

#ifndef LIBPROF_FORMAT_THREAD_MARK_H
#define LIBPROF_FORMAT_THREAD_MARK_H

namespace prof_format {

inline constexpr char kThreadMark[8] = "libprof";

}  // namespace prof_format

#endif
