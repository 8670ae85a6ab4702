// The search for functions in code that no table describes: its starts, and what is known of each. See discover.cc.

#ifndef LINKER_REWRITE_DISCOVER_SEARCH_H
#define LINKER_REWRITE_DISCOVER_SEARCH_H

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "body.h"
#include "linker-rewrite/base/code_set.h"
#include "linker-rewrite/program/data_references.h"
#include "linker-rewrite/program/noreturn.h"
#include "linker-rewrite/program/program.h"

namespace profld {

// Code that no table describes, and what leads there from elsewhere.

// Code outside of all entries of unwind tables, and without the linker's stubs; ascending, not overlapping.
std::vector<OldRange> undescribed_code(const Program& program);

// The range that contains `a`; null if there is none. `ranges` must be ascending.
const OldRange* range_with(const std::vector<OldRange>& ranges, OldAddr a);

struct Roots {
  std::vector<OldAddr> starts;    // certainly functions: called, exported, or known by a symbol
  std::vector<OldAddr> pointers;  // addresses of functions or of labels
  // At a fixed address: words of data that may be such addresses; ascending. `written`: in data that the program can
  // write to.
  std::vector<OldAddr> in_data, written;
  // True if anything but the start-up and finalization code of the compiler leads to code that neither tables nor
  // symbols describe. (crtbegin.o, which is in every program, has no tables.)
  bool any = false;
};

Roots find_roots(const Program& program, const std::vector<OldRange>& undescribed);

// An address at which a body starts.
struct Start {
  enum class Kind : uint8_t {
    function,  // called, exported, known by a symbol
    pointer,   // its address is taken, and its code is like a function's
    jumped,    // jumped to: a fragment, or a function that is only called by tail calls
  };
  Kind kind = Kind::function;
  bool may_be_inside = false;   // jumped: it may be a part of the body that jumps there, which is in front of it
  bool in_tables_only = false;  // pointer: only words name it that the program cannot write to, as those of jump tables
  bool is_guess = false;        // its address is taken, and it may be in the middle of something; see discover.cc
  StackState state;             // there
  // jumped: a body that jumps there, if all that do belong to one function; else 0.
  OldAddr from;
  std::vector<BodyEntry> others;                    // where other bodies come back into it
  std::vector<OldAddr> inside;                      // see explore()
  std::map<OldAddr, std::vector<OldAddr>> targets;  // of its indirect jumps; see Surroundings
  std::optional<Reason> unresolved;                 // why one of these is not understood
  // One of these leaves by an array of numbers, which may be functions' addresses, or labels after what is known.
  bool may_have_more = false;
  OldAddr resolved_up_to;      // the end of the window that `targets` were found in
  std::vector<OldAddr> tried;  // these jumps, and the ends of the windows that they were looked at in
  Body body;
  bool explored = false;
  bool queued = false;
};

struct BodyPart;
struct ResolvedJumps;

class Search : public Surroundings {
 public:
  // `show` is called now and then: which part of the code has been gone through, 0 to 1.
  Search(const Program& program, const Roots& roots, std::function<void(double)> show);

  // Finds all starts, as far as they can be understood.
  void run();
  const std::map<OldAddr, Start>& starts() const { return starts_; }
  // The start of the function that a body is a fragment of, as far as that is known; else its own start.
  OldAddr root_of(OldAddr start) const;

  Returns returns(const Insn& call, OldAddr target) const override;
  const std::vector<OldAddr>* targets_of(OldAddr jump) const override;

 private:
  bool is_undescribed(OldAddr a) const { return range_with(undescribed_, a) != nullptr; }
  bool known_never_returns(OldAddr target, bool through_word) const;
  std::map<OldAddr, Start>::iterator owner(OldAddr a);  // of the window that `a` lies in; end() if none does
  OldRange window(OldAddr start) const;

  void add(OldAddr at, Start::Kind kind, const StackState& state, OldAddr from = OldAddr(), bool may_be_inside = false);
  void make_fragment(OldAddr label, const StackState& state, OldAddr from);
  void add_entry(OldAddr start, OldAddr at, const StackState& state);
  void queue(OldAddr start);
  std::vector<BodyEntry> entries_of(OldAddr start) const;
  void explore_queued();
  void apply(OldAddr start, Body body);
  void show_progress();
  bool leave(OldAddr from, const BodyExit& exit);
  void remove_inside(OldAddr start);
  void set_returns(OldAddr start);

  bool accept_pointers(const std::vector<OldAddr>& candidates, bool cautiously);
  bool accept_unaligned(bool doubtful);
  bool accept_after_jumps();
  bool accept_after_last_calls();
  bool add_labels();
  bool add_label(OldAddr label, OldAddr from);
  void accept(OldAddr pointer);
  bool is_worth_trying(OldAddr pointer, bool cautiously) const;
  std::vector<Body> explored(const std::vector<OldAddr>& starts) const;
  Body explored_up_to_last_calls(OldAddr start) const;
  bool is_like_function(const Body& body) const;
  bool is_endless_function(OldAddr a) const;
  bool calls_as_abi_asks(const Body& body) const;
  bool goes_on_to_functions(const Body& body) const;
  std::optional<OldAddr> end_of_known(OldAddr start) const;
  std::optional<OldAddr> end_in_front_of(OldAddr a);

  // Takes the states of starts that are only jumped to from what leads there now; true if any changed.
  bool renew_arrivals();

  void forget_targets_after_new_starts();
  bool has_labels(OldAddr array, OldAddr start);
  void find_last_calls(const std::vector<BodyPart>& parts, std::set<OldAddr>& added);
  bool resolve_jumps();
  bool is_close(OldAddr a, OldAddr root, const StackState& state) const;
  bool leads_back(OldAddr a, OldAddr root, const StackState& state);
  void add_fragments(OldAddr root, OldAddr from, const StackState& state, const ResolvedJumps& resolved);
  void find_objects();
  const DataReferences& data_references();

  const Program& program_;
  const Roots& roots_;
  const std::function<void(double)> show_;
  uint64_t gone_through_ = 0, all_ = 0;  // bytes of code
  double shown_ = 0;                     // what show_ was called with last
  const Image& image_;
  const std::vector<OldRange> undescribed_;
  std::map<OldAddr, Start> starts_;
  std::set<OldAddr> pointers_;                    // addresses of functions or of labels
  std::unordered_map<OldAddr, OldAddr> refused_;  // of these, what is no function, and the end of its window
  std::vector<OldAddr> queue_;
  std::set<OldAddr> with_jumps_;  // bodies with jumps that are not understood
  // Of the starts: what is called or exported, and what returns. Both are asked at each call of each body.
  CodeSet functions_, returning_;
  std::vector<OldAddr> objects_;  // where objects begin in data; not yet in `data_`
  DataReferences data_;
  std::unordered_map<OldAddr, std::vector<OldAddr>> waiting_;    // bodies that stop at a call of this start
  std::unordered_map<OldAddr, std::vector<OldAddr>> followers_;  // bodies that return if this start does
  std::map<OldAddr, OldAddr> jumps_;  // indirect jumps whose targets are known, and the starts of their bodies
  mutable std::mutex noreturn_mutex_;
  mutable Noreturn noreturn_;
  LastCalls last_calls_;  // what seems never to return; it grows
  // Of functions that seem to return in spite of what they call: how many `last_calls_` there were then.
  std::unordered_map<OldAddr, size_t> returning_with_;
  mutable std::unordered_map<OldAddr, bool> never_returns_;  // of functions and words outside of undescribed code
};

}  // namespace profld

#endif
