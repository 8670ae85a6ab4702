// How complete all profiles of an analysis together are: programs that go on, that were killed, or whose calls and
// times were not all recorded.

#ifndef PROF_MODEL_TREE_COMPLETENESS_H
#define PROF_MODEL_TREE_COMPLETENESS_H

#include <cstdint>
#include <string>
#include <vector>

#include "prof/read/profile.h"

namespace prof {

class Completeness {
 public:
  void add(const Profile& profile);

  // What to tell the user of that. `first_path`: of the profile, if there is one only.
  std::vector<std::string> remarks(const std::string& first_path) const;

 private:
  // Of profiles, how many are so.
  size_t profiles_ = 0, not_ended_ = 0, live_ = 0, unwritten_ = 0, limited_ = 0, never_on_ = 0;
  size_t short_waits_unseen_ = 0, waits_unseen_ = 0;
  size_t unsampled_ = 0, given_up_ = 0, without_signal_ = 0, without_word_ = 0;
  uint64_t lost_ = 0, folded_ = 0, parts_ = 0;
  double lifetime_ = 0, recorded_ = 0;  // seconds, of limited profiles
};

}  // namespace prof

#endif
