// Copies functions and inserts the hooks, in two steps: `plan` decides the length of every copy (plan.h), `emit` writes
// them once all addresses are known (emit.h). A program of OCaml's tells its run-time system where the copies are, too:
// the code fragments, in relocate.cc.

#ifndef LINKER_REWRITE_MOVE_RELOCATE_H
#define LINKER_REWRITE_MOVE_RELOCATE_H

#include <functional>
#include <optional>
#include <vector>

#include "emit.h"
#include "entry_jumps.h"
#include "library_start.h"
#include "linker-rewrite/base/bytes.h"
#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/decide/code_dependences.h"
#include "linker-rewrite/program/fragments.h"
#include "linker-rewrite/program/program.h"
#include "linker-rewrite/unwind/unwind.h"
#include "linker-rewrite/x86/encoding.h"

namespace profld {

// The call with which the run-time system registers its own code in assembly.
struct FragmentCall {
  uint32_t group;
  InsnRef at;
  OldAddr function;              // caml_register_code_fragment
  std::vector<OldRange> ranges;  // of the original's code that is registered: of modules, and in assembly
};

// Where hooks are called that may leave: the ends of these calls (libprof/format/hook_sites.h).
struct HookSites {
  struct Function {
    std::vector<NewAddr> entries, exits;
    bool is_import = false;
  };
  std::vector<Function> functions;  // by group, of several that go together the first; and after those the imports
  std::optional<NewAddr> thunks;
};

class Relocator {
 public:
  // Plans the copies of all groups that move, and the code that a library starts with. `counters`, if it is not null,
  // must outlive this. `runtime_code`: where the hooks are.
  Relocator(const Program& program, HookSlots hook_slots, std::optional<LibraryStart> library_start,
            const BlockCounters* counters = nullptr, AnchoredRange runtime_code = {});

  // Places all copies from `text` on. Afterwards text_size() and the map are final.
  void plan(NewAddr text);
  uint64_t text_size() const { return text_size_; }
  const CopyMap& copies() const { return copies_; }
  RecordsOf records_of() const;                                // for write_unwind; refers to this
  CopyMap take_copies() { return std::move(copies_); }         // when nothing else is wanted
  uint64_t returns() const { return returns_; }                // exits through ret that got a hook
  uint64_t tail_jumps() const { return tail_jumps_; }          // exits through jumps that got one
  const ImportThunks& thunks() const { return thunks_; }       // they stand after the copies
  NewAddr library_start() const { return library_start_at_; }  // after the thunks; 0 if there is none
  FramelessCode frameless() const { return frameless_; }       // thunks and the code that a library starts with
  uint64_t jump_tables() const;

  // Writes the copies' jump tables, for an address after the copies. Then writes the copies on all cores, and calls
  // `meanwhile` at the same time: other work that only needs the size of the tables. Returns the changes that lead the
  // relocations in code to the copies. `exits`, if it is not null, is set to the ends of the calls of hooks of leaving,
  // by copy, if hooks leave.
  std::vector<Patch> emit(NewAddr tables_at, Bytes& text, Bytes& tables, const std::function<void()>& meanwhile,
                          const CounterWords& counters = {}, std::vector<std::vector<NewAddr>>* exits = nullptr) const;
  HookSites hook_sites(const std::vector<std::vector<NewAddr>>& exits) const;

  // The jumps in the old text, and what must lead to the copies in data: pointers to labels, and the return addresses
  // in frame tables.
  std::vector<Patch> patches(const std::vector<EntryJump>& entry_jumps) const;

 private:
  std::vector<uint32_t> groups_together() const;
  // Where the copy of a call returns to, by where the call does; nullopt if the call has no copy.
  std::optional<NewAddr> return_address_of_copy(OldAddr return_address) const;
  NewAddr text_end() const { return text_start_ + text_size_; }
  // Writes the clone of a jump table of the group, for the address `clone`.
  void emit_table(const JumpTable& t, const Group& group, NewAddr clone, uint8_t* out) const;

  const Program& program_;
  const HookSlots hook_slots_;
  const BlockCounters* counters_;
  CopyMap copies_;
  ImportThunks thunks_;
  const std::optional<LibraryStart> library_start_;
  NewAddr library_start_at_;
  FramelessCode frameless_;
  const AnchoredRange runtime_code_;
  std::optional<FragmentCall> fragment_call_;
  std::vector<NewRange> fragments_;  // that it is to register
  NewAddr fragment_calls_;           // the code that does
  std::vector<MonitoredEnd> monitored_ends_;
  NewAddr text_start_;
  std::vector<RangePlan> plans_;  // in the order of copies_
  uint64_t text_size_ = 0, returns_ = 0, tail_jumps_ = 0;
};

}  // namespace profld

#endif
