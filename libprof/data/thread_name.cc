#include "thread_name.h"

#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"

namespace libprof {

namespace {

constexpr uint64_t kGetName = 16;  // PR_GET_NAME

}  // namespace

void note_name(State* s) {
  char name[16] = {};
  if (syscall4(__NR_prctl, kGetName, as_word(name)) == 0) memcpy(s->thread->name, name, sizeof name);
}

void note_name_of_other(State* s) {
  char path[64], name[sizeof s->thread->name + 1];
  Line(path, sizeof path) << "/proc/self/task/" << uint64_t(s->tid) << "/comm";
  const size_t size = read_text(path, name, sizeof name);
  if (size < 2) return;  // it has ended
  memset(s->thread->name, 0, sizeof s->thread->name);
  memcpy(s->thread->name, name, size - 1);  // without the end of the line
}

}  // namespace libprof
