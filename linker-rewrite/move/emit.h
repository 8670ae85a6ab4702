// Writes the bytes of copies: of one range, according to its plan (plan.h), and of the code that calls the hooks for
// imports.

#ifndef LINKER_REWRITE_MOVE_EMIT_H
#define LINKER_REWRITE_MOVE_EMIT_H

#include <vector>

#include "linker-rewrite/base/bytes.h"
#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/program/program.h"
#include "plan.h"

namespace profld {

// The code through which a call of an import (decide/import_calls.cc) calls the hooks:
//
//   call thunk_in      ->   thunk_in:     call _profin; ret                    one for each import
//   call strlen             thunk_count:  call _profin; call _profout; ret     one for each import that is jumped to
//   call thunk_out     ->   thunk_out:    call _profout; ret                   one for all
//
// It does two things. The hook's return address, by which a node is told from others, is in the import's thunk: so an
// import is one function, wherever it is called, as a function with hooks of its own is. And in the hook the stack
// pointer is where it would be in the hook of a function that is called from there, so that the runtime knows the
// import's frame from that of the function that calls it, and sees that it is gone when that function, having caught an
// exception, calls another one.
class ImportThunks {
 public:
  // Places the thunks of those imports that need them, from `at` on.
  void place(const std::vector<Import>& imports, NewAddr at);

  NewAddr start() const { return start_; }
  uint64_t size() const { return size_; }  // bytes; 0 if there are no imports

  NewAddr enter(uint32_t import) const { return places_[import].enter; }
  NewAddr count(uint32_t import) const { return places_[import].count; }
  NewAddr leave() const { return start_; }

  // Writes all of them to `out`, which has room.
  void write(HookSlots hook_slots, uint8_t* out) const;

  // What readers of profiles have to know of them, ascending by address.
  std::vector<ImportCopy> copies(const std::vector<Import>& imports) const;

 private:
  struct Places {
    NewAddr enter, count;  // 0 if there is none
  };
  NewAddr start_;
  uint64_t size_ = 0;
  std::vector<Places> places_;  // by import
};

// An address that an instruction names and that changes in the copy: of a label, or of a jump table.
struct AddressChange {
  uint32_t insn;      // index in the range
  uint8_t field;      // offset in the instruction of the four bytes that hold it
  bool rip_relative;  // they are the distance from the end of the instruction
  NewAddr address;
};

// What code refers to that counts or records basic blocks.
struct CounterWords {
  NewAddr first_counter;          // of profld -b
  NewAddr* increments = nullptr;  // for each counter, to be set to where its increment is; null: nobody wants to know
  TraceWords trace;               // of profld --trace
};

// Writes the copy to `out`, which has room for it. Throws Error if the copy refers to something too far away. Returns
// the changes that lead the relocations in the original's code to the copy. `exits`, if it is not null: gets the ends
// of the calls of hooks of leaving, if hooks leave.
std::vector<Patch> emit_copy(const Program& program, const CopyMap& copies, HookSlots hook_slots,
                             const ImportThunks& thunks, const CounterWords& counters, const RangePlan& plan,
                             const RangeCopy& copy, std::vector<AddressChange> changes, uint8_t* out,
                             std::vector<NewAddr>* exits = nullptr);

}  // namespace profld

#endif
