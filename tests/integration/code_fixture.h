// Programs compiled when the test runs: what they are made of, and what the analysis of their indirect jumps says.

#ifndef TESTS_INTEGRATION_CODE_FIXTURE_H
#define TESTS_INTEGRATION_CODE_FIXTURE_H

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "linker-rewrite/decide/movability.h"
#include "linker-rewrite/program/fragments.h"
#include "tests/unit/elf_fixture.h"

namespace code_fixture {

using namespace profld;
using namespace elf_fixture;

// A directory for one test, removed at its end.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "profld-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Compiles `text` as the file `file` of the directory; the program's path, or an empty string if the compiler failed
// (then it has said why).
inline std::string compile(const ScratchDirectory& directory, const std::string& text, const std::string& command,
                           const std::string& file = "program.cc") {
  const std::string source = directory / file, program = directory / "program";
  std::ofstream(source) << text;
  const std::string all = command + " -o " + program + " " + source;
  return std::system(all.c_str()) == 0 ? program : std::string();
}

// The same of what has to compile, without warnings.
inline std::string build(const ScratchDirectory& directory, const std::string& file, const std::string& text,
                         const std::string& command) {
  const std::string program = compile(directory, text, command + " -w", file);
  REQUIRE_MESSAGE(!program.empty(), command);
  return program;
}

// Assembly: a program whose functions stand between `function NAME` and `done NAME`; main is there.
inline const std::string kFunctions = R"(
    .macro function name
    .globl \name
    .type \name, @function
\name: .cfi_startproc
    .endm
    .macro done name
    .cfi_endproc
    .size \name, .-\name
    .endm
    function main
    ret
    done main
)";

// A program of assembly, in functions and fragments, without the code that compilers add at its start.
class Assembled {
 public:
  explicit Assembled(const std::string& text, const std::string& command = "gcc -nostdlib -pie -Wl,-e,main")
      : image_(
            Image::open(build(directory_, "program.s", kFunctions + text + "\n.section .note.GNU-stack\n", command))),
        frames_(read_eh_frame(image_)),
        program(group_functions(image_, frames_, find_functions(image_, frames_))) {}

  const Image& image() const { return image_; }
  const EhFrame& frames() const { return frames_; }

  // Of a symbol, which need not be a function's.
  OldAddr address(const std::string& name) const {
    const auto s = std::ranges::find(image_.symbols(), name, &Symbol::name);
    REQUIRE_MESSAGE(s != image_.symbols().end(), name);
    return s->address;
  }
  // Index of the range that starts at the symbol.
  uint32_t range(const std::string& name) const {
    const ptrdiff_t i = program.range_of(address(name));
    REQUIRE(i >= 0);
    REQUIRE(program.ranges[size_t(i)].range.start == address(name));
    return uint32_t(i);
  }
  uint32_t group(const std::string& name) const { return program.ranges[range(name)].group; }

 private:
  ScratchDirectory directory_;
  const Image image_;
  const EhFrame frames_;

 public:
  Program program;  // refers to what stands before it
};

struct Resolved {
  IndirectJumps jumps;
  std::optional<Reason> reason;  // none if resolved

  bool stays_for(ReasonCode code) const { return reason && reason->code == code; }
  std::string why() const { return reason ? text_of(*reason) : "none"; }
};

// A program and what was found out about its functions, by name.
struct Analyzed {
  Image image;
  std::map<std::string, Resolved> functions;

  explicit Analyzed(const std::string& path) : image(Image::open(path)) {
    const EhFrame frames = read_eh_frame(image);
    Program program = group_functions(image, frames, find_functions(image, frames));
    find_reasons_to_stay(program, find_data_references(program));
    for (Group& g : program.groups)
      functions[program.ranges[g.ranges.front()].name()] = {std::move(g.indirect), g.reason};
  }

  size_t count(const std::string& name, JumpKind kind) const {
    const auto& jumps = functions.at(name).jumps.jumps;
    return size_t(std::ranges::count(jumps, kind, &IndirectJump::kind));
  }
};

}  // namespace code_fixture

#endif
