#include "state.h"

namespace libprof {

Process* process;

State* no_state() {
  static State unrecorded;
  return &unrecorded;
}

}  // namespace libprof
