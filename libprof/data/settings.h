// What the environment asks for: PROFTYPE, PROFSIZE, PROFBUDGET, PROFSTART, PROFDIR, PROFLIMIT, PROFLAST. Read once,
// when the first process begins; processes made by fork inherit it, whatever they do to their environment.

#ifndef LIBPROF_SETTINGS_H
#define LIBPROF_SETTINGS_H

#include <stdint.h>

namespace libprof {

struct Settings {
  bool is_read;
  bool is_off;           // nothing may or can be recorded; the reason has been said
  bool starts_off;       // PROFSTART: recording is off until prof ctl switches it on
  uint32_t type;         // enum prof_format::Type
  bool has_no_samples;   // of kAddresses: others take them, or PROFTYPE=count asks for counts of blocks only
  uint64_t node_limit;   // PROFSIZE
  uint64_t budget;       // PROFBUDGET: percent of the time of calls that their hooks may take where hooks leave
  uint64_t trace_limit;  // PROFLIMIT: most bytes of a trace
  uint64_t trace_last;   // PROFLAST: bytes of each thread's trace that are kept, the last ones; 0: all
  char directory[3584];  // absolute
};
extern Settings settings;

// The initial stack as the kernel made it (argc, arguments, environment, auxiliary vector); null if not known. Then
// /proc/self is read instead.
extern const uint64_t* initial_stack;

// Fills in `settings`. A heavy path.
void read_settings();

// A value of the auxiliary vector; 0 if it is not there.
uint64_t auxiliary_value(uint64_t type);

// "4000000", "4k", "4M": a number of nodes, at least 1. 0 if the text is not one.
uint64_t parse_size(const char* text);

// "100000000", "500K", "20M", "2G": a number of bytes, in units of 1024 and its powers. 0 if the text is not one.
uint64_t parse_bytes(const char* text);

}  // namespace libprof

#endif
