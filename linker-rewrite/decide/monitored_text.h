// Programs that profile themselves (gcc -pg): see monitored_text.cc.

#ifndef LINKER_REWRITE_DECIDE_MONITORED_TEXT_H
#define LINKER_REWRITE_DECIDE_MONITORED_TEXT_H

#include <vector>

#include "linker-rewrite/program/program.h"

namespace profld {

// Where an instruction has the end of the code in it that is to be watched.
struct MonitoredEnd {
  uint32_t group;
  AddressField field;
  OldAddr end;
};

std::vector<MonitoredEnd> find_monitored_ends(const Program& program);

}  // namespace profld

#endif
