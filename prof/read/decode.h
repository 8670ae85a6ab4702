// From the bytes of a profile to the structures of profile.h.

#ifndef PROF_READ_DECODE_H
#define PROF_READ_DECODE_H

#include <string>
#include <vector>

#include "profile.h"
#include "snapshot.h"

namespace prof {

// The first is the program itself. Phrases on what could not be read are added to `damage`.
std::vector<Module> decode_modules(const Snapshot& snapshot, std::vector<std::string>& damage);

// With their trees, the oldest first. Broken links in a tree are noted in its nodes.
std::vector<Thread> decode_threads(const Snapshot& snapshot, std::vector<std::string>& damage, bool with_durations);

// What was counted in basic blocks, added up by module.
std::vector<ModuleCounters> decode_counters(const Snapshot& snapshot, const std::vector<Module>& modules,
                                            std::vector<std::string>& damage);

// The arguments with spaces between; "" if they were not recorded.
std::string decode_command_line(const Snapshot& snapshot);

}  // namespace prof

#endif
