// What the analysis of indirect jumps (jumps/tables.h) says of one body, of which the end is not known. See
// resolved_jumps.cc.

#ifndef LINKER_REWRITE_DISCOVER_RESOLVED_JUMPS_H
#define LINKER_REWRITE_DISCOVER_RESOLVED_JUMPS_H

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "body.h"
#include "linker-rewrite/jumps/tables.h"

namespace profld {

// A body, or a fragment of it, that the analysis is given.
struct BodyPart {
  OldRange window;
  OldAddr certain_end;  // of the code that certainly belongs to it
  bool may_be_longer = false;
  OldAddr first_end{};           // of the code that is tried first
  OldAddr end{};                 // of the code that is tried
  std::vector<OldAddr> named{};  // what the code takes the address of, in the window
  bool names_guess = false;      // it takes the address of a start that may be a label (Start::is_guess)

  bool has_more() const { return may_be_longer && end < window.end; }
  // Some of it may be labels, which nothing else leads to.
  bool names_more() const {
    return names_guess || std::ranges::any_of(named, [&](OldAddr a) { return a >= end; });
  }
};

// `window`: that of now, which may be smaller than when the body was explored.
BodyPart part_of(const Image& image, const DataReferences& data, const Body& body, OldRange window, bool may_be_longer);

struct ResolvedJumps {
  std::optional<Reason> why;  // why they are not understood
  std::map<OldAddr, std::vector<OldAddr>> targets;
  bool may_have_more = false;
  std::vector<std::pair<OldAddr, OldAddr>> arrays;  // jumps through arrays of pointers, and where these begin
  OldAddr outside;                                  // where an entry leads that belongs to no body
  std::vector<OldAddr> elsewhere, perhaps;          // see Unresolved
};

// `parts`: the body, and its fragments.
ResolvedJumps resolve(const Image& image, const EhFrame& frames, const LastCalls& last_calls,
                      const DataReferences& data, const Surroundings& surroundings, std::vector<BodyPart> parts);

}  // namespace profld

#endif
