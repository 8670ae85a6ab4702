// The text of sources, by the paths that the compiler saw them at.

#ifndef PROF_MODEL_SOURCE_TEXT_H
#define PROF_MODEL_SOURCE_TEXT_H

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace prof {

class SourceText {
 public:
  // `folders`: where sources are looked for that are not at their paths, by as many of the last parts of these as a folder
  // has.
  explicit SourceText(std::vector<std::string> folders);

  // The lines of a file, without newlines and with blanks for tabs; null if it is not there. They live as long as this.
  const std::vector<std::string>* lines(const std::string& path);

  // Of the files that were asked for, which are not there, and where they were looked for; "" if all are.
  std::string remark() const;

 private:
  std::vector<std::string> folders_;
  std::map<std::string, std::optional<std::vector<std::string>>> files_;
};

}  // namespace prof

#endif
