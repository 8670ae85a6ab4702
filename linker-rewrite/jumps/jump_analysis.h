// The analysis of one function's indirect jumps: the interpretation of its code, and the conclusions from it.
// And which words of data are the labels that computed gotos lead to.

#ifndef LINKER_REWRITE_JUMPS_JUMP_ANALYSIS_H
#define LINKER_REWRITE_JUMPS_JUMP_ANALYSIS_H

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "interpreter.h"
#include "linker-rewrite/base/address.h"
#include "linker-rewrite/program/noreturn.h"
#include "table_entries.h"

namespace profld {

// Words in data that look like addresses of labels, in a program without relocations.
struct LabelWords {
  std::vector<std::pair<OldAddr, OldAddr>> certain, doubtful;  // address of the word, label; sorted by the first
};

// Tells words that are labels of a function from those that may only look like it. `words` have the addresses of labels
// of one function as values; `named` are the addresses that instructions of this function name. Neither need be sorted.
LabelWords tell_label_words(std::vector<std::pair<OldAddr, OldAddr>> words, std::vector<OldAddr> named);

// A set of numbers below `size`, of which the lowest is taken.
class Pending {
 public:
  explicit Pending(size_t size) : words_(size / 64 + 1) {}
  void insert(uint32_t n) {
    words_[n / 64] |= uint64_t(1) << n % 64;
    first_ = std::min(first_, n / 64);
  }
  std::optional<uint32_t> take() {
    while (first_ < words_.size() && words_[first_] == 0) ++first_;
    if (first_ == words_.size()) return std::nullopt;
    uint64_t& word = words_[first_];
    const uint32_t n = first_ * 64 + uint32_t(std::countr_zero(word));
    word &= word - 1;
    return n;
  }

 private:
  std::vector<uint64_t> words_;
  uint32_t first_ = 0;  // no word before it has a number
};

// What an analysis takes for granted.
struct Assumptions {
  Noreturn* noreturn = nullptr;  // the calls that never return; null: all return
  Noreturn* likely = nullptr;    // the calls after which states are doubtful; null: none
  bool calls_preserve = false;   // this and the next: see Interpreter::trust
  JoinPolicy policy = JoinPolicy::sound;
};

// By table: what is known of the indexes of all jumps through it.
using Indexes = std::map<TableForm, IndexRange>;

class JumpAnalysis {
 public:
  // `code` must outlive this object. `indexes`: what another analysis found in the end, with the same assumptions.
  JumpAnalysis(const Image& image, const EhFrame& frames, const DataReferences& data, const Instructions& code,
               const Assumptions& assumptions, Indexes indexes = {});

  // Interprets the function until nothing new is learnt; to be called once. `parts_may_be_entries`: what calls the
  // function may begin at a part that the first does not lead to, and that has no frame there.
  void run(bool parts_may_be_entries);

  // Whether control was followed where it cannot go: to entries that a table has by what was known of an index first,
  // and not by what was known in the end.
  bool followed_too_many() const { return followed_too_many_; }
  Indexes indexes() const;
  // Whether what was found of indexes in the end is no more than what the constructor was given.
  bool confirms_indexes() const;

  // Fills in what Unresolved says of all tables that jumps go through now.
  void tell_what_is_outside(bool bounds_are_certain, Unresolved& out) const;
  // `uses`: of constants, see Interpreter.
  Expected<IndirectJumps, Unresolved> result(const std::vector<uint8_t>& uses);
  const std::vector<uint8_t>& uses() const { return interpreter_.uses(); }
  bool reads_own_code() const { return interpreter_.reads_own_code(); }
  // Whether an instruction takes the address of something that can be read as one of the function's jump tables, and is
  // none of those by which the jumps of `result` get theirs.
  bool takes_address_of_other_table(const IndirectJumps& result) const;
  // How the label is used whose address RIP-relative instructions take: a set of Use.
  uint8_t uses_of(OldAddr label);

 private:
  // Jumps that can go to the same targets: at each target, the states of all these jumps are joined.
  struct Hub {
    std::vector<uint32_t> targets;
    std::optional<State> state;
  };
  struct Table {
    TableForm form;
    std::set<uint32_t> jumps;  // that go or went through it
    TableEntries entries;
    IndexRange index{0, false, false};  // of all jumps
    IndexRange found{0, false, false};  // the same, whatever the constructor was given
    Hub hub;
  };
  struct Jump {
    Value target;
    bool frame_is_empty = false;
    bool stack_is_switched = false;
    bool through_red_zone = false;
    int table = -1;
    size_t clone = 0;  // the index of its table among those of the result
  };

  void find_landing_pads();
  void reach(uint32_t insn, const State& state);
  void work();
  void block(uint32_t leader);
  void jump(const State& state, uint32_t insn);
  int table_of(const Value& target, uint32_t jump);
  void leave_through(Hub& hub, const State& state);
  void find_labels();
  bool is_compiled_by_ocaml() const;
  void leave_out_tables(const std::vector<JumpTable>& tables);
  bool frame_is_empty(const State& state, uint32_t insn) const;
  std::optional<Reason> add_table(IndirectJumps& out, Jump& j, uint32_t insn, const std::vector<uint8_t>& uses);
  AddressField field_at(Origin o) const;
  void sort_fields();
  Expected<OldAddr, ReasonCode> fields_of(Origin origin, bool is_base, const std::vector<uint8_t>& uses,
                                          std::vector<AddressField>& fields);
  bool add_label_fields(const std::vector<uint8_t>& uses, IndirectJumps& out);
  bool compares_labels(const std::vector<uint8_t>& uses) const;
  template <class Is>
  bool any_address_of_data(const Is& is) const;
  bool has_address_of_code() const;
  Expected<JumpKind, Unresolved> kind_of(const Jump& j, uint32_t insn);

  const Image& image_;
  const EhFrame& frames_;
  const DataReferences& data_;
  const FunctionCode& function_;
  const Assumptions assumptions_;
  const Indexes given_;
  const Instructions& code_;
  Interpreter interpreter_;
  const TableSource source_;
  std::deque<State> states_;       // at leaders
  std::vector<int32_t> state_of_;  // index in states_, -1
  State here_, elsewhere_;         // of block() alone, kept for their memory
  std::vector<bool> leader_;
  std::vector<uint32_t> visited_;  // the round in which an instruction was interpreted, 0: never
  uint32_t round_ = 1;
  Pending pending_;                                     // leaders whose state changed
  std::unordered_map<uint32_t, uint32_t> landing_pad_;  // of calls
  std::vector<Table> tables_;
  std::map<TableForm, int> table_index_;
  std::map<uint32_t, Jump> jumps_;
  bool followed_too_many_ = false;
  Hub labels_;
  bool labels_found_ = false;
  bool has_label_instructions_ = false;
  std::vector<Origin> label_fields_;  // immediates and displacements that may be addresses of labels (non-PIE)
  LabelWords label_words_;
  // The set of origins that each field with a constant is in, and the field; sorted, when nothing more is joined.
  std::vector<std::pair<Origin, Origin>> fields_;
};

}  // namespace profld

#endif
