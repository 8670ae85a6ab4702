// A gmon.out of a small program that is there, in every view, and written again.

#include <cstdlib>
#include <string>

#include "fuzz.h"
#include "printed.h"
#include "prof/commands/options/message.h"
#include "prof/export/exports.h"
#include "prof/model/analysis/analysis.h"
#include "prof/read/gmon_file.h"
#include "prof/views/run/views.h"
#include "tests/unit/prof_fixture.h"

namespace {

// What prof makes of the bytes, whether or not their beginning says that they are a gmon.out.
void decode(const std::string& bytes, std::FILE* stream) {
  prof::Gmon gmon = prof::decode_gmon(bytes, "gmon.out");
  prof::Output out(stream, "written");
  prof::print_gmon(gmon, out);
  prof::add_gmon(gmon, gmon, "gmon.out");
}

void show(const std::string& program, const std::string& path) {
  prof::Input input{program, {path}};
  const prof::Analysis a = prof::analyse(input);
  prof::say_all(a.remarks);
  const fuzz::Printed printed;
  prof::Output out(printed.stream, "printed");
  prof::print_flat(a, {}, out);
  prof::print_modules(a, {}, out);
  prof::print_tree(a, {}, out);
  prof::print_json(a, {}, out);
  prof::print_dot(a, 0, out);
  prof::write_gmon(a, "/dev/null");
  out.finish();
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const program = std::getenv("PROGRAM");
  if (!program) std::abort();  // tests/fuzz/run sets it
  static prof_test::TemporaryDirectory directory;
  static const std::string path = directory / "gmon.out";
  static std::FILE* const nowhere = std::fopen("/dev/null", "we");
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const fuzz::Messages messages;
  try {
    decode(bytes, nowhere);
    prof_test::write_file(path, bytes);
    if (prof::is_gmon_file(path)) show(program, path);
  } catch (const prof::Error& e) {
    prof::say(e.what());
  }
  return 0;
}
