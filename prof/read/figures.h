// All figures of a profile that a limit (limit.h) applies to, to be changed in place.

#ifndef PROF_READ_FIGURES_H
#define PROF_READ_FIGURES_H

#include <cstdint>
#include <vector>

#include "limit.h"
#include "profile.h"

namespace prof {

class Figures {
 public:
  // Makes the raw numbers in the nodes plain calls and cycles, of self time or, where they are estimated, of
  // inclusive time, up to the moment when the profile was read. Nodes whose counts cannot be stay as they are, for
  // others to tell of. The profile must stay where it is as long as this object lives.
  explicit Figures(Profile& profile);

  // Takes figures away, or puts them in the place of what is there. No figure gets less than 0: one that was read while
  // the program ran may be a little too large.
  void subtract(const std::vector<BlockCounters>& figures);
  void replace(const std::vector<BlockCounters>& figures);

  // Those that are not 0.
  std::vector<BlockCounters> list() const;

  // Takes the nodes out of the trees that have neither calls nor time, nor have any below them.
  void leave_out_empty();

 private:
  struct Cell {
    prof_format::Block block;
    uint64_t* calls;
    uint64_t* cycles;
    uint64_t* timed;
  };
  template <class Change>
  void change(const std::vector<BlockCounters>& figures, Change change);
  void add_tree(const Thread& thread, std::vector<bool>& seen);
  prof_format::Node* node(prof_format::Block block) const;

  Profile& profile_;
  std::vector<Cell> cells_;                // by block
  std::vector<prof_format::Block> nodes_;  // parents before their children
  bool is_broken_ = false;                 // links between them make no sense: let them be
  uint64_t none_ = 0;                      // what a cell has nothing of
};

}  // namespace prof

#endif
