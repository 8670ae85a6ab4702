// A profile, shown in every view, of a small program that is there. From where the input has the magic of a list of
// counters (libprof/format/control_list.h) on, it is that list. Half of it may be a second profile, and be that of a run to be shown
// beside the first. Names in the program have control characters in them.

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "fuzz.h"
#include "printed.h"
#include "prof/commands/options/message.h"
#include "prof/commands/showing/show.h"
#include "prof/commands/showing/suggest.h"
#include "prof/read/recording.h"
#include "prof/views/run/views.h"

namespace {

constexpr std::string_view kListMagic(prof_format::kControlListMagic, sizeof prof_format::kControlListMagic);

struct Directory {
  Directory() {
    if (!mkdtemp(path.data())) std::abort();
  }
  ~Directory() { std::filesystem::remove_all(path); }
  std::string path = std::filesystem::temp_directory_path() / "profile-XXXXXX";
};

// A new file: ext4 waits for the disk when one is truncated and written again.
void write(const std::string& path, std::string_view bytes) {
  std::filesystem::remove(path);
  std::ofstream file(path, std::ios::binary);
  if (!file.write(bytes.data(), std::streamsize(bytes.size())).flush()) std::abort();
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const program = std::getenv("PROGRAM");
  if (!program) std::abort();  // tests/fuzz/run sets it
  static const Directory directory;
  static const std::string path = directory.path + "/prof.1", list_path = prof::control_list_path(path);
  static const std::string other_path = directory.path + "/prof.2";
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(bytes.find(kListMagic), size);
  write(path, bytes.substr(0, end));
  write(list_path, bytes.substr(end));
  const fuzz::Messages messages;
  const fuzz::Printed printed;
  try {
    // One thing at a time: reading the profile takes longer than showing it.
    if (size % 3 == 0) {
      prof::Options options;
      options.apart = size % 2 ? prof::Apart::threads : prof::Apart::processes;
      prof::show(options, program, {path}, printed.stream);
      return 0;
    }
    std::vector<std::string> profiles = {path};
    if (size % 3 == 2) {
      std::string half(bytes.substr(0, end / 2));
      constexpr size_t kType = offsetof(prof_format::Header, type);
      static_assert((prof_format::kElapsed ^ 2) == prof_format::kCpu);
      if (half.size() > kType) half[kType] = char(half[kType] ^ (size % 5 < 4 ? 2 : 0));
      write(other_path, half);
      profiles.push_back(other_path);
    }
    prof::Input input = {program, profiles, size % 2 == 1, size % 4 < 2, true, true};
    const std::vector<std::string> some = {"*e*"}, all = {"*"}, none;
    if (size % 7 == 1) input.contexts = {some, none, none, none};
    if (size % 7 == 2) input.contexts = {none, some, all, none};
    if (size % 7 == 3) input.contexts = {none, none, none, some};
    const prof::Analysis a = prof::analyse(input);
    prof::say_all(a.remarks);
    prof::Output out(printed.stream, "printed");
    prof::print_modules(a, {}, out);
    prof::print_flat(a, {}, out);
    prof::TreeOptions tree = {.whole_recursion = size % 8 < 4, .chains = size % 32 < 16};
    if (size % 16 < 8) tree.sort = prof::SortKey::total;
    if (size % 64 < 32) tree.pruning = {1, 5};
    prof::print_tree(a, tree, out);
    prof::print_json(a, tree.sort, out, tree.pruning);
    prof::print_suggestion(a, out);
    prof::say_all(prof::write_gmon(a, "/dev/null"));
    out.finish();
    static const std::string symbols = directory.path + "/symbols";
    prof::write_gprof_symbols(a, symbols);
    std::ostringstream text;
    text << std::ifstream(symbols, std::ios::binary).rdbuf();
    fuzz::Printed::check(text.view());
  } catch (const prof::Error& e) {
    prof::say(e.what());
  }
  return 0;
}
