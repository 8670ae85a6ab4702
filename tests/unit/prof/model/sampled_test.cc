#include "prof/model/tree/sampled.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <nlohmann/json.hpp>

#include "prof/model/analysis/analysis.h"
#include "prof/read/error.h"
#include "prof/read/file.h"
#include "prof/sample/address_spaces.h"
#include "prof/sample/samples.h"
#include "tests/unit/prof_fixture.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;
using prof::AddressSpaces;
using prof::Samples;

namespace {

void write(const Samples& samples, const std::string& path) {
  const prof::Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  prof::write_samples(samples, file.get(), path);
}

Samples some_samples() {
  Samples s;
  s.program = "/bin/program";
  s.arguments = {"program", "a \"word\"", "\n", std::string(3000, 'x')};
  s.period = 200'000;
  s.has_kernel = true;
  s.kernel = 7;
  s.user = 111;
  s.lost = 2;
  s.user_time = 5;
  s.system_time = 6;
  s.status = 9;
  s.modules = {{"/bin/program", std::string("\x01\xab\x00", 3), {{0x10, 1}, {UINT64_MAX, 10}}},
               {"[vdso]", "", {{0, 100}}}};
  s.threads = {{1, 2, "main", 111, 7}};
  prof::ChainIndex index;
  for (int i = 0; i < 101; ++i) {
    s.chains.add({{1, 0}, {0, 0x10}}, 1, i == 0, index);
    s.chains.count(prof::ChainEnd::whole);
  }
  return s;
}

// "module+offset" of an address, or "".
std::string place(const AddressSpaces& spaces, uint32_t process, uint64_t address) {
  const AddressSpaces::Mapping* m = spaces.find(process, address);
  return m ? std::to_string(m->module) + "+" + std::to_string(address - m->start + m->offset) : "";
}

// a calls b twice as long as c does, and d; a program without segments, so samples are of whole objects.
struct Run {
  Run() {
    a = run.call(0, 'a', 1, 100);
    run.call(a, 'b', 10, 200);
    const Block c = run.call(a, 'c', 5, 300);
    run.call(c, 'b', 90, 100);
    run.call(c, 'd', 7, 0);
    run.call(a, 'd', 21, 0);
    run.writer.write(run.dir / "prof.1");
    prof::Input input;
    input.profiles = {run.dir / "prof.1"};
    analysis.emplace(prof::analyse(input));
    times.period = 1'000'000;
    times.samples.resize(analysis->functions.functions().size());
    times.is_counted.assign(times.samples.size(), true);
  }
  uint32_t function(char letter) {
    const auto& all = analysis->functions.functions();
    for (uint32_t i = 0; i < all.size(); ++i) {
      if (all[i].name == std::string(1, letter)) return i;
    }
    FAIL("no such function");
    return 0;
  }
  void use() { analysis->sums = prof::use_samples(times, 1e9, analysis->tree); }
  const prof::FunctionSum& sum(char letter) { return analysis->sums[function(letter)]; }

  LetteredRun run;
  Block a = 0;
  std::optional<prof::Analysis> analysis;
  prof::SampledTimes times;
};

}  // namespace

TEST_CASE("samples: a file holds what was written") {
  TemporaryDirectory dir;
  write(some_samples(), dir / "samples");
  const Samples s = prof::read_samples(dir / "samples"), expected = some_samples();
  CHECK(s.program == expected.program);
  CHECK(s.arguments == expected.arguments);
  CHECK(s.period == expected.period);
  CHECK(s.has_kernel);
  CHECK(s.kernel == 7);
  CHECK(s.user == 111);
  CHECK(s.lost == 2);
  CHECK(s.user_time == 5);
  CHECK(s.system_time == 6);
  CHECK(s.status == 9);
  REQUIRE(s.chains.nodes().size() == 3);
  CHECK(s.chains.nodes()[1].parent == 0);
  CHECK(s.chains.nodes()[1].place == prof::FramePlace{0, 0x10});
  CHECK(s.chains.nodes()[2].parent == 1);
  CHECK(s.chains.nodes()[2].place == prof::FramePlace{1, 0});
  CHECK(s.chains.nodes()[2].user == 100);
  CHECK(s.chains.nodes()[2].kernel == 1);
  CHECK(s.chains.ended(prof::ChainEnd::whole) == 101);
  CHECK(s.chains.ended(prof::ChainEnd::cut_off) == 0);
  REQUIRE(s.modules.size() == 2);
  CHECK(s.modules[0].build_id == expected.modules[0].build_id);
  CHECK(s.modules[0].counts == expected.modules[0].counts);
  CHECK(s.modules[1].path == "[vdso]");
  REQUIRE(s.threads.size() == 1);
  CHECK(s.threads[0].name == "main");
}

TEST_CASE("samples: a file that is cut off anywhere, or has any byte changed, is read or refused in a line") {
  TemporaryDirectory dir;
  Samples few = some_samples();
  few.arguments.resize(2);
  write(few, dir / "samples");
  const std::string whole = read_file(dir / "samples");
  const std::string path = dir / "damaged";
  for (size_t i = 0; i + 2 < whole.size(); ++i) {
    write_file(path, whole.substr(0, i));
    CHECK_THROWS_AS(prof::read_samples(path), prof::Error);
    for (const char byte : {'\0', '"', '9', '-', ']', '\xff'}) {
      std::string changed = whole;
      changed[i] = byte;
      write_file(path, changed);
      try {
        const Samples s = prof::read_samples(path);
        uint64_t sum = 0;
        for (const auto& m : s.modules) {
          for (const auto& [offset, count] : m.counts) sum += count;
        }
        CHECK(sum == s.user);
        CHECK(s.period > 0);
      } catch (const prof::Error& e) {
        CHECK(std::string(e.what()).find('\n') == std::string::npos);
      }
    }
  }
}

TEST_CASE("samples: it is said if short threads have none") {
  Samples s = some_samples();  // of 22.2 ms
  s.user_time = 25'000'000;
  CHECK(prof::time_without_samples(s) == "");
  s.user_time = 111'000'000;
  CHECK(prof::time_without_samples(s) ==
        "only 20 % of the time in user code has samples: threads and processes that ran for less than 0.2 ms have "
        "none, and "
        "the times of their functions are too small");
}

TEST_CASE("samples: files lie where they were mapped last, in each process") {
  AddressSpaces spaces;
  CHECK(place(spaces, 1, 100) == "");
  spaces.map(1, {100, 200, 1000, 7});
  CHECK(place(spaces, 1, 99) == "");
  CHECK(place(spaces, 1, 100) == "7+1000");
  CHECK(place(spaces, 1, 199) == "7+1099");
  CHECK(place(spaces, 1, 200) == "");
  spaces.fork(2, 1);
  spaces.map(1, {120, 130, 0, 8});  // in the middle
  CHECK(place(spaces, 1, 119) == "7+1019");
  CHECK(place(spaces, 1, 125) == "8+5");
  CHECK(place(spaces, 1, 130) == "7+1030");
  CHECK(place(spaces, 2, 125) == "7+1025");  // the child has its own
  spaces.map(1, {90, 125, 0, 9});            // over an end of two
  CHECK(place(spaces, 1, 119) == "9+29");
  CHECK(place(spaces, 1, 125) == "8+5");
  spaces.map(1, {0, 1000, 0, 3});  // over all
  CHECK(place(spaces, 1, 125) == "3+125");
  spaces.exec(1);
  CHECK(place(spaces, 1, 125) == "");
  CHECK(place(spaces, 2, 125) == "7+1025");
  spaces.begin_thread(2);
  spaces.end_thread(2);
  CHECK(place(spaces, 2, 125) == "7+1025");
  spaces.end_thread(2);
  CHECK(place(spaces, 2, 125) == "");
  spaces.map(3, {10, 10, 0, 1});
  spaces.map(3, {20, 10, 0, 1});
  CHECK(place(spaces, 3, 10) == "");
}

TEST_CASE("samples: how many there may be follows from how many there are") {
  CHECK(prof::range_of(0).low == 0);
  CHECK(prof::range_of(0).high == doctest::Approx(3.84).epsilon(0.01));
  CHECK(prof::range_of(100).low == doctest::Approx(82.2).epsilon(0.01));
  CHECK(prof::range_of(100).high == doctest::Approx(121.6).epsilon(0.01));
  CHECK(prof::range_of(400, 4).low == doctest::Approx(4 * 82.2).epsilon(0.01));
  CHECK(prof::range_of(1'000'000).high == doctest::Approx(1'001'962).epsilon(0.0001));
  // Of 32 in all. Without that, 31 might be 21.8 to 44.
  CHECK(prof::range_of(31, 1, 32).low == doctest::Approx(27.0).epsilon(0.01));
  CHECK(prof::range_of(31, 1, 32).high == doctest::Approx(31.8).epsilon(0.01));
  CHECK(prof::range_of(32, 1, 32).low == doctest::Approx(28.6).epsilon(0.01));
  CHECK(prof::range_of(32, 1, 32).high == doctest::Approx(32));
  CHECK(prof::range_of(1, 1, 32).high == doctest::Approx(5.0).epsilon(0.01));
  CHECK(prof::range_of(124, 4, 128).high == doctest::Approx(4 * 31.8).epsilon(0.01));
}

TEST_CASE("samples: a time is the surer the more of all samples it has") {
  Run r;
  r.times.all = 400;
  r.times.samples[r.function('a')] = 10;
  r.times.samples[r.function('b')] = 390;
  r.use();
  const double cycles = 1e6;  // of a sample
  CHECK(r.sum('a').self_variance == doctest::Approx(10 * 0.975 * cycles * cycles));
  CHECK(r.sum('b').self_variance == doctest::Approx(390 * 0.025 * cycles * cycles));
  // Its total is all there is. But up to three samples may have been missed that others should have had.
  CHECK(r.sum('a').total_variance == doctest::Approx(2.25 * cycles * cycles));
}

TEST_CASE("samples: a function's time is spread over its nodes by what they took, or by calls") {
  Run r;
  r.times.samples[r.function('a')] = 5;
  r.times.samples[r.function('b')] = 300;  // 200 and 100 cycles
  r.times.samples[r.function('c')] = 10;
  r.times.samples[r.function('d')] = 40;  // no cycles: 7 and 21 calls
  r.use();
  constexpr uint64_t ms = 1'000'000;
  const auto& nodes = r.analysis->tree.nodes;
  std::map<std::string, std::pair<uint64_t, uint64_t>> by_path;
  for (size_t i = 1; i < nodes.size(); ++i) {
    std::string path;
    for (uint32_t n = uint32_t(i); n != 0; n = nodes[n].parent)
      path = r.analysis->functions.functions()[nodes[n].function].name + path;
    by_path[path] = {nodes[i].self, nodes[i].total};
  }
  using Times = std::pair<uint64_t, uint64_t>;
  CHECK(by_path["ab"] == Times(200 * ms, 200 * ms));
  CHECK(by_path["acb"] == Times(100 * ms, 100 * ms));
  CHECK(by_path["acd"] == Times(10 * ms, 10 * ms));
  CHECK(by_path["ad"] == Times(30 * ms, 30 * ms));
  CHECK(by_path["ac"] == Times(10 * ms, 120 * ms));
  CHECK(by_path["a"] == Times(5 * ms, 355 * ms));
  CHECK(r.sum('b').self == 300 * ms);
  CHECK(r.sum('b').calls == 100);
  CHECK(r.sum('a').total == 355 * ms);
  CHECK(nodes[0].total == 355 * ms);
  CHECK(r.sum('b').self_variance == doctest::Approx(300.0 * ms * ms));
}

TEST_CASE("samples: what has samples only is shown without calls; calls that are missing are told of") {
  Run r;
  const uint32_t e = r.analysis->functions.at(0, LetteredRun::address(4));
  const uint32_t kernel = r.analysis->functions.nameless_code("[kernel]");
  r.times.samples.resize(r.analysis->functions.functions().size());
  r.times.is_counted = {true, true, true, true, true, false};
  r.times.samples[r.function('b')] = 250;
  r.times.samples[e] = 500;
  r.times.samples[kernel] = 250;
  r.use();
  r.analysis->type = prof::FigureType::true_times;
  r.analysis->sampled = r.times;
  r.analysis->tsc_hz = 1e9;
  CHECK(flat(*r.analysis) ==
        "    %   Self     +/-      Total  Calls   Per-call\tName\n"
        " 50.0  500ms  43.9ms      500ms      0          -\te\n"
        "~25.0  250ms  31.0ms  210-290ms    100  2.1-2.9ms\tb\n"
        "~25.0  250ms  31.0ms          -      -          -\t[kernel]\n"
        "  0.0      0  1.92ms          0     28          0\td\n"
        "  0.0      0  1.92ms   65-110ms      5    13-21ms\tc\n"
        "  0.0      0  1.92ms  210-290ms      1  210-290ms\ta\n");
  CHECK(
      prof::impossible_samples(r.times, r.analysis->sums, r.analysis->functions.functions()) ==
      "1 function has samples in the first run but no calls in the second (e: 500 samples): the program did not do the "
      "same twice");
  r.times.samples[e] = 9;  // too few to tell
  CHECK(prof::impossible_samples(r.times, r.analysis->sums, r.analysis->functions.functions()) == "");
}

TEST_CASE("samples: those of another program are refused; those of files that are gone have no names") {
  LetteredRun run;
  ElfWriter original;
  original.build_id = "original";
  original.write(run.dir / "original");
  ElfWriter copy;
  copy.rewritten = true;
  copy.build_id = "id";
  copy.original_build_id = "original";
  copy.add_symbol("a", 0x100, 16);
  copy.add_copy(0x10100, 0x100);
  copy.write(run.dir / "program");
  run.call(0, 'a', 3, 10);
  run.writer.header().probe_inside = 10 * 256;  // all of its time is hooks; that is no remark on those of the samples
  run.writer.write(run.dir / "prof.1");

  Samples s = some_samples();
  s.program = run.dir / "original";
  s.modules = {{run.dir / "gone", "xy", {{1, 11}, {2, 100}}}};
  s.chains = {};
  write(s, run.dir / "samples");
  prof::Input input;
  input.profiles = {run.dir / "prof.1"};
  input.samples = run.dir / "samples";
  std::optional<prof::Analysis> a(prof::analyse(input));
  REQUIRE(a->remarks.size() == 2);  // with that on those lost
  CHECK(a->remarks[0].find("its functions have no names") != std::string::npos);
  const auto& functions = a->functions.functions();
  CHECK(functions.back().name == "[kernel]");
  CHECK(functions[1].name == (run.dir / "gone"));
  CHECK(a->sampled->samples[1] == 111);
  CHECK(a->sampled->samples[0] == 0);
  CHECK(a->sums[0].calls == 3);

  // The samples that a profile has of its own say nothing of these times, nor of a part of them.
  run.writer.header().type = prof_format::kSample;
  run.writer.header().sample_period = 4'000'000;
  run.writer.write(run.dir / "prof.2");
  input.profiles = {run.dir / "prof.2"};
  input.contexts.focus = {"a"};
  CHECK(prof::analyse(input).sums[0].self_variance == 0);
  input.profiles = {run.dir / "prof.1"};

  original.build_id = "other";
  original.write(run.dir / "other");
  s.program = run.dir / "other";
  s.modules.clear();
  s.user = 0;
  write(s, run.dir / "samples2");
  input.samples = run.dir / "samples2";
  CHECK_THROWS_WITH_AS(prof::analyse(input), doctest::Contains("another program"), prof::Error);
}

TEST_CASE("Few chains that are not whole are within the error of each figure, and not told") {
  prof::SampledChains chains;
  chains.count(prof::ChainEnd::whole, 280);
  chains.count(prof::ChainEnd::cut_off, 2);
  CHECK(prof::chains_cut_off(chains) == "");
  chains.count(prof::ChainEnd::no_table);
  CHECK(prof::chains_cut_off(chains).starts_with(
      "the callers of 3 of 283 samples are known only in part and begin at [unknown]: 1 in code"));
  chains.count(prof::ChainEnd::whole, 10'000);
  CHECK(prof::chains_cut_off(chains) == "");
}

TEST_CASE(
    "What counters took is left out of the functions that have some, by their time, and never more than there is") {
  prof::SampledTimes times;
  times.period = 1'000'000;  // a million cycles
  times.are_of_copy = true;
  times.samples = {100, 300, 50, 0};
  prof::CounterCosts costs;
  costs.by_function = {{0, -3e6, 2e6}, {0, 0, 60e6}, {}, {0, -1, 1}};  // the third has no counters
  costs.of_all = 40e6;
  prof::leave_out_counters(costs, 1e9, times);
  REQUIRE(times.own.size() == 4);
  CHECK(times.own[0].likely == doctest::Approx(0.9));
  CHECK(times.own[0].low == doctest::Approx(0.9));  // more than that of its own counters was taken off
  CHECK(times.own[0].high == doctest::Approx(1.03));
  CHECK(times.own[1].likely == doctest::Approx(0.9));
  CHECK(times.own[1].low == doctest::Approx(0.8));
  CHECK(times.own[2].likely == 1);

  costs.of_all = 4000e6;
  prof::leave_out_counters(costs, 1e9, times);
  CHECK(times.own[0].likely == doctest::Approx(0.7));
  costs.by_function[0] = {500e6, 400e6, 600e6};
  prof::leave_out_counters(costs, 1e9, times);
  CHECK(times.own[0].likely == 0);
}

TEST_CASE(
    "Of prof.* the samples beside profiles are no profiles, nor are those that a killed prof run was about to write") {
  CHECK(prof::without_samples({"prof.1", "prof.1.samples", "prof.1.samples.new", "prof.2.samples", "prof.2.new"}) ==
        std::vector<std::string>{"prof.1", "prof.2.samples", "prof.2.new"});
}
