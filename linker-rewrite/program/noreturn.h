// Calls that do not return. The code after such a call belongs to some other path. An analysis that goes on there
// would mix up what it knows on the two paths.

#ifndef LINKER_REWRITE_PROGRAM_NORETURN_H
#define LINKER_REWRITE_PROGRAM_NORETURN_H

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "linker-rewrite/elf/image.h"
#include "linker-rewrite/unwind/eh_frame.h"
#include "linker-rewrite/x86/decode.h"

namespace profld {

// Functions that seem never to return, because code ends where they are called.
//
// What is after a call that does not return is another path's, and an analysis that goes on there mixes the two up. The
// functions of other files that never return cannot be told from this one (xexit of libbfd, Perl_croak), and a list of
// names has only those of the C and C++ libraries. But compilers know, and put nothing after their calls:
// where such a call is the last thing that a function does, the function's code ends with it.
//
// That is no proof. error(1, ...) does not return, and error(0, ...) does. A C++ function that forgets to return a
// value may end with any call. So this is asked only where the jumps of a function are not understood otherwise, and
// paths go on after such calls. But what they bring is doubtful: where they meet others, it does not spoil what is
// known of addresses (State::is_doubtful). Should such a path be taken, it must have the address of a table all the
// same, where a jump needs one. So all tables that the function takes addresses of have to be known
// (JumpAnalysis::takes_address_of_other_table).

struct Program;

// What the call leads to that a range of code ends with, as Code::target() says it: a function or a linker's stub, or
// the word with its address. nullopt if the range ends with no call. Only the last bytes are looked at; what precedes
// them might make them a part of something else.
std::optional<OldAddr> target_of_last_call(const Image& image, OldRange range);

class LastCalls {
 public:
  // The calls that the program's ranges end with, if unwind tables describe these: an entry that is made may be for a
  // part of a function only, and counts if another function begins after it.
  explicit LastCalls(const Program& program);

  void add(OldAddr target) { targets_.insert(target); }
  bool contains(OldAddr target) const { return targets_.contains(target); }
  size_t size() const { return targets_.size(); }

 private:
  std::unordered_set<OldAddr> targets_;
};

class Noreturn {
 public:
  // `last_calls`: functions that are taken never to return as well; null if none are.
  Noreturn(const Image& image, const EhFrame& frames, const LastCalls* last_calls = nullptr)
      : image_(image), frames_(frames), last_calls_(last_calls) {}

  // True if the call (whose Code::target() is `target`) is known not to return: it calls a function of this program
  // that no path leads out of, or a function of the C and C++ libraries that ends the program or throws. With
  // `last_calls`, or seems not to.
  bool never_returns(const Insn& call, OldAddr target);

 private:
  bool function_never_returns(OldAddr function, unsigned depth);
  bool path_ends(const Code& code, size_t from, unsigned depth);
  bool imported_never_returns(OldAddr got_entry) const;
  bool seems_never_to_return(OldAddr target) const { return last_calls_ && last_calls_->contains(target); }

  const Image& image_;
  const EhFrame& frames_;
  const LastCalls* const last_calls_;
  std::unordered_map<OldAddr, bool> known_;
};

}  // namespace profld

#endif
