// Calls that do not return. The code behind such a call belongs to some other path. An analysis that goes on there
// would mix up what it knows on the two paths.

#ifndef LINKER_REWRITE_PROGRAM_NORETURN_H
#define LINKER_REWRITE_PROGRAM_NORETURN_H

#include <unordered_map>

#include "last_calls.h"
#include "linker-rewrite/unwind/eh_frame.h"
#include "linker-rewrite/x86/decode.h"

namespace profld {

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
