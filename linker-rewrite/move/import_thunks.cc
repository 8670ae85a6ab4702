#include "import_thunks.h"

#include <algorithm>

namespace profld {

namespace {

// Of each thunk, with what fills it up. Processors fetch code in blocks of sixteen bytes.
constexpr uint64_t kThunkSize = 16;
static_assert(2 * kHookLength + kReturnLength <= kThunkSize);

}  // namespace

void ImportThunks::place(const std::vector<Import>& imports, NewAddr at) {
  start_ = NewAddr(align_up(at.value, kThunkSize));
  places_.assign(imports.size(), {});
  NewAddr end = start_ + kThunkSize;
  bool any = false;
  auto next = [&] {
    any = true;
    end += kThunkSize;
    return end - kThunkSize;
  };
  for (size_t i = 0; i < imports.size(); ++i) {
    if (imports[i].is_called) places_[i].enter = next();
    if (imports[i].is_jumped_to) places_[i].count = next();
  }
  size_ = any ? end - start_ : 0;
}

void ImportThunks::write(HookSlots hook_slots, uint8_t* out) const {
  if (size_ == 0) return;
  auto thunk = [&](NewAddr at, bool enters, bool leaves) {
    if (at == NewAddr()) return;
    InstructionWriter writer(out + (at - start_), at);
    if (enters) writer.call_through(hook_slots.enter);
    if (leaves) writer.call_through(hook_slots.leave);
    writer.return_to_caller();
  };
  thunk(leave(), false, true);
  for (const Places& p : places_) {
    thunk(p.enter, true, false);
    thunk(p.count, true, true);
  }
}

std::vector<ImportCopy> ImportThunks::copies(const std::vector<Import>& imports) const {
  std::vector<ImportCopy> copies;
  for (size_t i = 0; i < imports.size(); ++i)
    for (NewAddr thunk : {places_[i].enter, places_[i].count})
      if (thunk != NewAddr())
        copies.push_back(
            {thunk, kThunkSize, imports[i].address, imports[i].has_stub ? kJumpThroughLength : 0, imports[i].name});
  return copies;
}

}  // namespace profld
