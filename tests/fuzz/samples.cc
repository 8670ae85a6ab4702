// A file of samples, with the profile of a small program that is there, in every view.

#include <cstdlib>
#include <string>
#include <string_view>

#include "fuzz.h"
#include "printed.h"
#include "prof/commands/options/message.h"
#include "prof/model/analysis/analysis.h"
#include "prof/views/run/views.h"
#include "tests/unit/prof_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const program = std::getenv("PROGRAM");
  if (!program) std::abort();  // tests/fuzz/run sets it
  static prof_test::TemporaryDirectory directory;
  static const std::string profile = directory / "prof.1", samples = directory / "prof.samples";
  static const bool is_written = [] {
    prof_test::ProfileWriter w;
    const prof::ElfFile file(program);
    w.add_module(program, file.build_id(), 0, 0, 0x100000);
    const prof_test::Block thread = w.add_thread();
    for (const prof_format::MapEntry& entry : file.map()) {
      w.add_node(w.root(thread), entry.copy + 5, 3, 1000);
    }
    w.write(profile);
    return true;
  }();
  if (!is_written) return 0;
  prof_test::write_file(samples, std::string(reinterpret_cast<const char*>(data), size));
  const fuzz::Messages messages;
  const fuzz::Printed printed;
  try {
    prof::Input input{program, {profile}};
    input.samples = samples;
    const prof::Analysis a = prof::analyse(input);
    prof::say_all(a.remarks);
    prof::Output out(printed.stream, "printed");
    prof::print_flat(a, {}, out);
    prof::print_tree(a, {}, out);
    prof::print_json(a, {}, out);
    prof::write_gmon(a, "/dev/null");
    out.finish();
  } catch (const prof::Error& e) {
    prof::say(e.what());
  }
  return 0;
}
