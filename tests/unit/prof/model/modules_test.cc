#include "prof/model/tree/modules.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "prof/commands/showing/suggest.h"
#include "prof/model/analysis/analysis.h"
#include "prof/read/error.h"
#include "prof/views/run/views.h"
#include "tests/unit/prof_analysed.h"
#include "tests/unit/prof_fixture.h"
#include "tests/unit/prof_gmon.h"
#include "tests/unit/prof_made_analysis.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;

namespace {

constexpr uint64_t kLibrary = 0x7f0000000000;          // where it lies
constexpr uint64_t kRetired = uint64_t(0x1234) << 48;  // the mark of a module that another one took the place of

// A library of functions `inflate' and `_ZN3fooEv', whose copies are at 0x1100 and 0x1200.
void write_library(const std::string& path, const std::string& soname, const std::string& id = "copy of z") {
  ElfWriter e;
  e.file_type = ET_DYN;
  e.soname = soname;
  e.rewritten = true;
  e.build_id = id;
  e.original_build_id = "original of " + id;
  e.add_exported("inflate", 0x100, 16);
  e.add_exported("_ZN3fooEv", 0x200, 16);
  e.add_copy(0x1100, 0x100);
  e.add_copy(0x1200, 0x200);
  e.add_import(0x1300, 0x900, "strlen");
  e.write(path);
}
uint64_t inflate_at(uint64_t bias) { return bias + 0x1105; }
uint64_t foo_at(uint64_t bias) { return bias + 0x1205; }

// The program of lettered functions with that library.
class RunWithLibrary : public AnalysedRun {
 public:
  explicit RunWithLibrary(const std::string& file = "libz.so.1.2.13", const std::string& soname = "libz.so.1")
      : library(dir / file) {
    write_library(library, soname);
  }
  Block add_library(uint64_t bias = kLibrary) {
    return writer.add_module(library, "copy of z", bias, bias, bias + 0x10000);
  }
  // b of the program, inflate of the library and c of the program call each other.
  void make_calls(uint64_t bias = kLibrary) {
    main = call(0, 'a', 1, 1'000'000'000);
    inflate = writer.add_node(main, inflate_at(bias), 20, 3'000'000'000);
    call(inflate, 'b', 7, 500'000'000);
    writer.add_node(main, foo_at(bias), 3, 500'000'000);
    call(main, 'c', 2, 0);
  }
  prof::Analysis analyse_modules(const std::vector<std::string>& patterns) {
    prof::Analysis a = analyse(true);
    a.module_patterns = patterns;
    return a;
  }

  std::string library;
  Block main = 0, inflate = 0;
};

std::string modules(const prof::Analysis& a) {
  return printed([&](prof::Output& out) { prof::print_modules(a, {.has_header = false}, out); });
}
nlohmann::json json(const prof::Analysis& a) {
  return nlohmann::json::parse(printed([&](prof::Output& out) { prof::print_json(a, {}, out); }));
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("modules: a function of a library is shown with its soname, or its file's name; the program's own without") {
  RunWithLibrary run;
  run.add_library();
  run.make_calls();
  const prof::Analysis a = run.analyse(true);
  CHECK(lines(a.remarks) == "");
  CHECK(cell(flat(a), "Calls", "inflate [libz.so.1]") == "20");
  CHECK(cell(flat(a), "Calls", "foo() [libz.so.1]") == "3");
  CHECK(cell(flat(a), "Calls", "a") == "1");
  CHECK(tree(a) ==
        "a:5000.000\n"
        ". inflate [libz.so.1]:3500.000/20\n"
        ".\tb:500.000/7\n"
        ". foo() [libz.so.1]:500.000/3\n"
        ". c:0.000/2\n");

  RunWithLibrary plugin("plugin.so.prof", "");
  plugin.add_library();
  plugin.make_calls();
  CHECK(contains(flat(plugin.analyse()), "inflate [plugin.so]\n"));
}

TEST_CASE("modules: JSON says which file each is, and what its functions did together") {
  RunWithLibrary run;
  run.add_library();
  run.make_calls();
  const nlohmann::json all = json(run.analyse(true));
  const auto& functions = all["functions"];
  REQUIRE(functions.size() == 5);
  CHECK(functions[1]["name"] == "inflate");
  CHECK(functions[1]["module"] == "libz.so.1");
  CHECK(functions[1]["address"] == "0x100");
  REQUIRE(all["modules"].size() == 2);
  CHECK(all["modules"][0]["name"] == "program");
  CHECK(all["modules"][0]["path"] == run.dir / "program");
  const auto& z = all["modules"][1];
  CHECK(z["name"] == "libz.so.1");
  CHECK(z["path"] == run.library);
  CHECK(z["build_id"] == prof::build_id_text("original of copy of z"));
  CHECK(z["rewritten"] == true);
  CHECK(z["functions"] == 2);
  CHECK(z["calls"] == 23);
  CHECK(z["self_cycles"] == 3'500'000'000);
}

TEST_CASE("modules: a table of them, with the share of all") {
  RunWithLibrary run;
  run.add_library();
  run.make_calls();
  const std::string text = modules(run.analyse(true));
  CHECK(text ==
        "   %   Self  Calls  Functions\tName\n"
        "70.0  3.50s     23          2\tlibz.so.1\n"
        "30.0  1.50s     10          3\tprogram\n");
}

TEST_CASE(
    "modules: imports are one module, since nothing says whose functions they are, and one function whoever calls "
    "them") {
  RunWithLibrary run;
  ElfWriter e;
  e.rewritten = true;
  e.build_id = "id";
  e.add_symbol("a", 0x100, 16);
  e.add_copy(0x10100, 0x100);
  e.add_import(0x10200, 0x400, "strlen");
  e.write(run.dir / "program");
  run.add_library();
  const Block a = run.call(0, 'a', 1, 1'000'000'000);
  run.writer.add_node(a, LetteredRun::kBias + 0x10206, 3, 500'000'000);
  const Block inflate = run.writer.add_node(a, inflate_at(kLibrary), 1, 2'000'000'000);
  run.writer.add_node(inflate, kLibrary + 0x1306, 1, 500'000'000);
  const prof::Analysis analysis = run.analyse(true);
  CHECK(contains(modules(analysis), "25.0  1.00s      4          1\t[libraries]\n"));
  CHECK(contains(modules(analysis), "25.0  1.00s      1          1\tprogram\n"));
  CHECK(contains(flat(analysis), "25.0  1.00s  1.00s      4     250ms\tstrlen\n"));
  CHECK(contains(flat(run.analyse_modules({"[libraries]"})), "25.0  1.00s  1.00s      4     250ms\tstrlen\n"));
  CHECK_FALSE(contains(flat(run.analyse_modules({"[libraries]"})), "inflate"));
}

TEST_CASE(
    "modules: those that are selected are shown, with their share of all, and in the tree with what leads to them") {
  RunWithLibrary run;
  run.add_library();
  run.make_calls();
  prof::Analysis a = run.analyse_modules({"libz*"});
  prof::check_patterns(a);
  CHECK(contains(flat(a), "60.0  3.00s  3.50s     20     175ms\tinflate [libz.so.1]\n"));
  CHECK_FALSE(contains(flat(a), "\tb\n"));
  CHECK(contains(modules(a), "70.0  3.50s "));
  CHECK_FALSE(contains(modules(a), "program"));
  CHECK(tree(a) == "a:5000.000\n. inflate [libz.so.1]:3500.000/20\n. foo() [libz.so.1]:500.000/3\n");

  const nlohmann::json selected = json(a);
  REQUIRE(selected["functions"].size() == 3);  // a leads to the others
  CHECK(selected["functions"][0]["name"] == "a");
  REQUIRE(selected["tree"].size() == 3);
  CHECK(selected["tree"][0]["parent"] == -1);
  CHECK(selected["tree"][2]["parent"] == 0);
  CHECK(selected["tree"][2]["function"] == 2);
  CHECK(selected["functions"][2]["name"] == "foo()");
  CHECK(selected["modules"].size() == 1);

  a = run.analyse_modules({"program", "libz.so.1"});
  CHECK(tree(a) == tree(run.analyse_modules({})));
  CHECK(json(a) == json(run.analyse_modules({})));

  a = run.analyse_modules({"program", "libc*"});
  CHECK_THROWS_WITH_AS(prof::check_patterns(a), "--module libc*: no module matches; there are program, libz.so.1",
                       prof::Error);

  Sample alone;
  alone.add(0, "main", 1, 1);
  alone.finish();
  alone.analysis.module_patterns = {"libc*"};
  CHECK_THROWS_WITH_AS(prof::check_patterns(alone.analysis), "--module libc*: no module matches; there is only sample",
                       prof::Error);
}

TEST_CASE("modules: a library adds up wherever it lies, in one process and in several") {
  RunWithLibrary run;
  run.add_library();
  run.make_calls();
  // Another process has it elsewhere, under another name.
  LetteredRun other;
  write_library(other.dir / "libz.so", "libz.so.1");
  const uint64_t bias = 0x7e1234560000;
  other.writer.add_module(other.dir / "libz.so", "copy of z", bias, bias, bias + 0x10000);
  const Block a = other.call(0, 'a', 1, 10);
  other.writer.add_node(a, inflate_at(bias), 100, 10);
  other.writer.write(other.dir / "prof.2");
  run.writer.write(run.dir / "prof.1");
  prof::Input input;
  input.profiles = {run.dir / "prof.1", other.dir / "prof.2"};
  const prof::Analysis both = prof::analyse(input);
  CHECK(sum_of(both, "inflate").calls == 120);
  CHECK(std::ranges::count(both.functions.functions(), "inflate", &prof::Function::name) == 1);
  REQUIRE(both.tree.nodes.size() == 6);
  CHECK(both.tree.nodes[2].calls == 120);
}

TEST_CASE("modules: one that lay where another lies now keeps its calls, and adds up with itself") {
  RunWithLibrary run;
  write_library(run.dir / "other.so", "other.so", "copy of another");
  run.make_calls(kLibrary + kRetired);
  run.add_library(kLibrary + kRetired);
  run.writer.add_module(run.dir / "other.so", "copy of another", kLibrary, kLibrary, kLibrary + 0x10000);
  run.add_library(kLibrary + 2 * kRetired);
  run.writer.add_node(run.main, inflate_at(kLibrary), 1000, 1);
  run.writer.add_node(run.main, inflate_at(kLibrary + 2 * kRetired), 5, 1);
  const prof::Analysis a = run.analyse(true);
  CHECK(lines(a.remarks) == "");
  CHECK(cell(flat(a), "Calls", "inflate [libz.so.1]") == "25");
  CHECK(cell(flat(a), "Calls", "inflate [other.so]") == "1000");
}

TEST_CASE("modules: functions of libraries may be worth leaving out, too, one pattern for each name") {
  RunWithLibrary run;
  run.add_library();
  run.make_calls();
  run.writer.add_node(run.inflate, foo_at(kLibrary), 90'000'000, 0);
  run.writer.add_node(run.inflate, kLibrary + 0x1306, 80'000'000, 0);  // strlen
  run.call(run.inflate, 'd', 70'000'000, 0);
  CHECK(prof::suggest(run.analyse(true)).patterns == std::vector<std::string>{"_ZN3fooEv", "strlen", "d"});
}

TEST_CASE("modules: of a library that is gone there are addresses, and one remark") {
  RunWithLibrary run;
  run.add_library();
  run.add_library(kLibrary + kRetired);
  run.make_calls();
  std::filesystem::remove(run.library);
  const prof::Analysis a = run.analyse(true);
  CHECK(lines(a.remarks) == run.library + ": No such file or directory; its functions are shown by their addresses\n");
  CHECK(cell(flat(a), "Calls", "libz.so.1.2.13+0x1104") == "20");
  CHECK_FALSE(contains(flat(a), "["));

  write_library(run.library, "libz.so.1", "another");
  CHECK(lines(run.analyse().remarks) == run.library +
                                            ": has changed since it was profiled, so its functions are shown by their "
                                            "addresses; profile again for names\n");
}

TEST_CASE("modules: the program need not have been rewritten if none of the calls are its own") {
  RunWithLibrary run;
  ElfWriter python;
  python.build_id = "id";
  python.add_symbol("a", 0x100, 16);
  python.add_undefined("inflate");
  python.write(run.dir / "program");
  run.add_library();
  run.writer.add_node(run.writer.root(run.thread), inflate_at(kLibrary), 8, 100);
  const prof::Analysis a = run.analyse(true);
  CHECK(lines(a.remarks) ==
        run.dir / "prof.1" + ": the program itself was not rewritten; shown is what its rewritten libraries did\n");
  CHECK(a.program == run.dir / "program");
  CHECK(cell(flat(a), "Calls", "inflate [libz.so.1]") == "8");
  CHECK(json(a)["modules"][0]["rewritten"] == false);

  // Nor be there; but another one is refused.
  prof::Input input;
  input.profiles = {run.dir / "prof.1"};
  input.program = run.dir / "program";
  CHECK(sum_of(prof::analyse(input), "inflate").calls == 8);
  python.build_id = "else";
  python.write(run.dir / "another");
  input.program = run.dir / "another";
  CHECK_THROWS_WITH_AS(prof::analyse(input), doctest::Contains("is not the original of"), prof::Error);
  input.program = "";
  std::filesystem::remove(run.dir / "program");
  CHECK(sum_of(prof::analyse(input), "inflate").calls == 8);

  // With calls of its own it was rewritten.
  python.build_id = "id";
  python.write(run.dir / "program");
  run.call(0, 'a', 1, 1);
  CHECK_THROWS_WITH_AS(run.analyse(), doctest::Contains("was not rewritten by profld"), prof::Error);
}

TEST_CASE("modules: the program need not be among them") {
  RunWithLibrary run;
  run.writer = {};
  run.thread = run.writer.add_thread();
  run.add_library();
  run.writer.add_node(run.writer.root(run.thread), inflate_at(kLibrary), 8, 100);
  const prof::Analysis a = run.analyse(true);
  CHECK(cell(flat(a), "Calls", "inflate [libz.so.1]") == "8");
  CHECK(contains(lines(a.remarks), "the program itself was not rewritten"));
}

TEST_CASE(
    "modules: gprof gets a file for the program and one for each library, calls from elsewhere by <spontaneous>") {
  RunWithLibrary run;
  run.add_library();
  write_library(run.dir / "other", "../libz.so.1", "copy of another");
  const uint64_t bias = kLibrary + 0x100000;
  run.writer.add_module(run.dir / "other", "copy of another", bias, bias, bias + 0x10000);
  run.make_calls();
  run.writer.add_node(run.inflate, foo_at(kLibrary), 9, 0);
  run.writer.add_node(run.inflate, kLibrary + 0x1306, 1, 250'000'000);  // strlen
  run.writer.add_node(run.main, inflate_at(bias), 4, 0);
  const prof::Analysis a = run.analyse(true);
  TemporaryDirectory out;
  const std::string path = out / "gmon.out";
  const std::string files = path + ".libz.so.1, " + path + "..._libz.so.1";
  CHECK(contains(lines(prof::write_gmon(a, path)),
                 path + ": has what the program did; what libraries did is in " + files + "\n"));
  const Gmon program(read_file(path)), z(read_file(path + ".libz.so.1")), other(read_file(path + "..._libz.so.1"));
  const std::map<std::pair<uint64_t, uint64_t>, uint64_t> of_program = {{{0x100, 0x200}, 7}, {{0x100, 0x300}, 2}};
  CHECK(program.arcs == of_program);
  CHECK(program.seconds.at(0x200) == doctest::Approx(0.5));
  const std::map<std::pair<uint64_t, uint64_t>, uint64_t> of_z = {
      {{0xf0, 0x100}, 20}, {{0xf0, 0x200}, 3}, {{0x100, 0x200}, 9}};
  CHECK(z.arcs == of_z);
  CHECK(z.seconds.at(0x100) == doctest::Approx(3.25));
  CHECK(other.arcs.size() == 1);

  prof::write_gprof_symbols(a, out / "names");
  CHECK(read_file(out / "names.libz.so.1") ==
        "f0 T <spontaneous>\n100 T inflate\n200 T _ZN3fooEv\n210 T _end_of_functions\n");

  // A device has no files beside it.
  prof::write_gmon(a, "/dev/null");
  CHECK_FALSE(std::filesystem::exists("/dev/null.libz.so.1"));
}
