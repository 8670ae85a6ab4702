// The text of sources, by the paths that the compiler saw them at.

#ifndef PROF_MODEL_PROGRAM_SOURCE_TEXT_H
#define PROF_MODEL_PROGRAM_SOURCE_TEXT_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace prof {

class SourceText {
 public:
  // `folders`: where sources are looked for that are not at their paths, by as many of the last parts of these as a
  // folder has.
  explicit SourceText(std::vector<std::string> folders);

  // The lines of a file, without newlines and with blanks for tabs; null if it is not there. They live as long as this.
  const std::vector<std::string>* lines(const std::string& path);

  // When the file was changed last; none if it is not there, or that is not known.
  std::optional<int64_t> time_changed(const std::string& path);

  // A program has code of the lines of a file up to this one. `made`: when it was made, if that is known
  // (time_of_change).
  void note_program(const std::string& path, uint32_t last_line, std::optional<int64_t> made);

  // Of the files that were asked for: which are not there, and where they were looked for; which were changed after a
  // program was made of them. `of_missing`: the former as well.
  std::vector<std::string> remarks(bool of_missing = true) const;

 private:
  struct File {
    std::optional<std::vector<std::string>> lines;
    std::optional<int64_t> changed;
    bool is_newer = false;   // than a program
    uint32_t last_line = 0;  // that a program has code of
  };
  bool look_at(const std::string& place, File& file);

  std::vector<std::string> folders_;
  std::map<std::string, File> files_;
};

}  // namespace prof

#endif
