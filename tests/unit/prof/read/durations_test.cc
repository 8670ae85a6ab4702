#include "prof/read/durations.h"

#include <doctest/doctest.h>

#include <unordered_set>

#include "prof/model/compare/difference.h"
#include "prof/read/snapshot.h"
#include "prof/views/compare/difference.h"
#include "tests/unit/prof_analysed.h"
#include "tests/unit/prof_printed.h"

using namespace prof_test;
using prof::Analysis;
using prof::CallDurations;

namespace {

// 1000 calls of about 1100 cycles, 100 of about 40,000, one of a million, and of another function 3 of less than 256.
struct Run : AnalysedRun {
  Block a = call(0, 'a', 1101, 0), b = call(a, 'b', 3, 0);
  Block of_a = writer.add_durations(a);

  Run() {
    fill(2, 0, 1000);  // 1024 to 1087 cycles
    fill(7, 3, 100);   // 38,912 to 40,959
    fill(11, 14, 1);   // 983,040 to 1,015,807
    writer.durations(of_a).least = 1030;
    writer.durations(of_a).greatest = 1'000'000;
    writer.node(b).short_calls = 3;
  }
  void fill(uint32_t octave, uint32_t part, uint64_t calls) {
    const Block at = writer.add_octave(of_a, octave);
    writer.octave(at).calls[part] = calls;
  }
};

const CallDurations& durations_of(const Analysis& analysis, const std::string& name) {
  for (size_t f = 0; f < analysis.durations.size(); ++f)
    if (analysis.functions.functions()[f].name == name) return analysis.durations[f];
  static const CallDurations none;
  return none;
}

std::string latency(const Analysis& analysis, prof::SortKey order = prof::SortKey::max) {
  return printed([&](prof::Output& out) { prof::print_latency(analysis, {.has_header = false}, order, out); });
}

}  // namespace

TEST_CASE("durations: counts, percentiles and ends of a function's calls") {
  Run run;
  const Analysis analysis = run.analyse();
  const CallDurations& a = durations_of(analysis, "a");
  CHECK(a.calls() == 1101);
  CHECK(a.least() == 1030);
  CHECK(a.greatest() == 1'000'000);
  CHECK(a.percentile(0.5) == 1056);
  CHECK(a.percentile(0.9) == 1056);  // 991 of 1101
  CHECK(a.percentile(0.92) == 39'936);
  CHECK(a.percentile(0.999) == 39'936);  // the 1100th
  CHECK(a.percentile(1) == 999'424);
  CHECK(a.buckets().size() == 3);
  CHECK(a.buckets()[1].low == 38'912);
  CHECK(a.buckets()[1].high == 40'960);
  const CallDurations& b = durations_of(analysis, "b");
  CHECK(b.calls() == 3);
  CHECK(b.least() == 0);
  CHECK(b.percentile(0.99) == 0);
}

TEST_CASE("durations: nodes that share them count once, those of other nodes and threads are added") {
  Run run;
  run.writer.node(run.call(run.b, 'a', 5, 0)).durations = run.of_a;
  const Block thread = run.writer.add_thread(2);
  const Block other = run.writer.add_node(run.writer.root(thread), run.writer.node(run.a).pc, 7, 0);
  const Block more = run.writer.add_durations(other);
  run.writer.durations(more).least = 300;
  run.writer.durations(more).greatest = 2'000'000;
  run.writer.octave(run.writer.add_octave(more, 2)).calls[0] = 7;
  run.writer.durations(run.of_a).short_calls = uint64_t(1) << 32;
  run.writer.node(run.a).short_calls = 2;
  run.writer.node(other).short_calls = 5;
  const Analysis analysis = run.analyse();
  const CallDurations& a = durations_of(analysis, "a");
  CHECK(a.calls() == 1108 + (uint64_t(1) << 32) + 7);
  CHECK(a.short_calls() == (uint64_t(1) << 32) + 7);
  CHECK(a.least() == 0);
  CHECK(a.greatest() == 2'000'000);
  CHECK(a.buckets()[1].calls == 1007);
}

TEST_CASE("durations: the first few calls are in a list; of nodes that are none, they are left out") {
  Run run;
  run.writer.log_durations(run.thread, {{run.b, 256}, {run.b, 1000}, {run.a, 1029}});
  run.writer.log_durations(run.thread, {{run.b, 1'234'567'890}, {0, 5000}, {0x7fffffff, 5000}});
  const Analysis analysis = run.analyse();
  const CallDurations& b = durations_of(analysis, "b");
  CHECK(b.calls() == 6);
  CHECK(b.short_calls() == 3);
  CHECK(b.greatest() == 1'234'567'888);  // 27 bits of it
  CHECK(b.percentile(0.6) == 264);       // the fourth
  CHECK(durations_of(analysis, "a").calls() == 1102);
  CHECK(durations_of(analysis, "a").least() == 1029);
}

TEST_CASE("durations: packed and unpacked") {
  using prof_format::packed_duration, prof_format::unpacked_duration;
  for (const uint64_t cycles : {256ul, 257ul, 511ul, 512ul, (1ul << 26) - 1, 1ul << 26, (1ul << 27) - 1, 1ul << 49})
    CHECK(unpacked_duration(packed_duration(cycles)) == cycles);
  CHECK(unpacked_duration(packed_duration(255)) == 0);
  CHECK(unpacked_duration(packed_duration((1ul << 30) + 15)) == 1ul << 30);
  CHECK(unpacked_duration(packed_duration((1ul << 30) + 16)) == (1ul << 30) + 16);
}

TEST_CASE("durations: of threads that ran one after the other, each once; with -t, there are none") {
  Run run;
  const Block thread = run.writer.add_thread(2);
  const Block other = run.writer.add_node(run.writer.root(thread), run.writer.node(run.a).pc, 7, 0);
  run.writer.node(other).durations = run.of_a;
  CHECK(durations_of(run.analyse(), "a").calls() == 1101);
  run.writer.write(run.dir / "prof.1");
  for (const prof::Profile& part : prof::Profile::by_thread(prof::Profile::read(run.dir / "prof.1", true)))
    CHECK(part.threads()[0].durations.empty());
}

TEST_CASE("durations: what found no room, and what cannot be, is left out") {
  Run run;
  const Block none = run.writer.add_durations(run.b);
  const Block octave = run.writer.add_octave(none, 0);
  run.writer.header().no_durations = none;
  run.writer.durations(none).short_calls = 50;
  run.writer.node(run.b).short_calls = 0;
  run.writer.octave(octave).calls[0] = 50;
  run.writer.durations(run.of_a).octaves[20] = octave;
  run.writer.durations(run.of_a).octaves[21] = 0x7fffffff;
  run.writer.octave(run.writer.durations(run.of_a).octaves[7]).calls[9] = UINT64_MAX;
  const Analysis analysis = run.analyse();
  CHECK(durations_of(analysis, "a").calls() == 1101);
  CHECK(durations_of(analysis, "b").calls() == 0);
  CHECK(analysis.lost_durations == 100);
  CHECK(analysis.remarks.back().ends_with(
      ": 100 durations found no room, so percentiles lack them; run it with a larger PROFSIZE"));
}

TEST_CASE("durations: an older profile has none, nor one of a type without times") {
  Run run;
  run.writer.header().version = 4;
  CHECK(run.analyse().durations.empty());
  run.writer.header().version = prof_format::kVersion;
  run.writer.header().type = prof_format::kCount;
  CHECK(run.analyse().durations.empty());
}

// The tree of calls is there for these alone; samples are below a root of their own.
TEST_CASE("durations: of a run whose hooks left, with a mark where they did") {
  Run run;
  prof_format::Header& h = run.writer.header();
  h.type = prof_format::kAddresses;
  h.sample_period = 4'000'000;
  h.flags |= prof_format::kEnded;
  const Block none = run.writer.add_durations(run.b);
  run.writer.node(run.b).durations = 0;
  run.writer.node(run.b).short_calls = 3;
  run.writer.header().no_durations = none;
  run.writer.node(run.b).hooks_left = 1;
  const Block root = run.writer.add_root();
  run.writer.thread(run.thread).addresses = root;
  const Block sampled = run.writer.add_node(root, run.pc('b'), 0, 0);
  run.writer.node(sampled).samples = 50;
  run.writer.thread(run.thread).hook_cycles = 1000;
  run.writer.thread(run.thread).sample_signals_apart = 50;
  const Analysis analysis = run.analyse();
  CHECK(durations_of(analysis, "a").calls() == 1101);
  CHECK(!durations_of(analysis, "a").are_of_first_calls());
  CHECK(durations_of(analysis, "b").are_of_first_calls());
  CHECK(sum_of(analysis, "a").self == 0);
  CHECK(sum_of(analysis, "a").calls == 0);
  CHECK(sum_of(analysis, "b").self > 0);
  CHECK(analysis.sample_signals == 50);
  CHECK(analysis.samples_without_room == 0);
  CHECK(analysis.hook_cycles == 1000);
  const std::string text = latency(analysis);
  CHECK(text.starts_with("Calls  Timed"));
  CHECK(cell(text, "Timed", "a") == "1101");
  CHECK(cell(text, "Max", "a") == "1.00ms");
  CHECK(cell(text, "Max", "b").starts_with("~<"));
}

TEST_CASE("durations: of another machine, they are scaled") {
  CallDurations sum;
  Run run;
  const Analysis analysis = run.analyse();
  sum.add(durations_of(analysis, "a"), 2);
  CHECK(sum.calls() == 1101);
  CHECK(sum.least() == 2060);
  CHECK(sum.greatest() == 2'000'000);
  CHECK(sum.percentile(0.5) == 2112);
}

TEST_CASE("latency: a line for each function with calls that have ended, the longest first") {
  Run run;
  const std::string text = latency(run.analyse());
  CHECK(text ==
        "Calls     Min     p50     p90     p99   p99.9     Max\tName\n"
        " 1101  1.03us  1.06us  1.06us  39.9us  39.9us  1.00ms\ta\n"
        "    3  <256ns  <256ns  <256ns  <256ns  <256ns  <256ns\tb\n");
  CHECK(latency(run.analyse(), prof::SortKey::name).find("\ta\n") <
        latency(run.analyse(), prof::SortKey::name).find("\tb\n"));
}

TEST_CASE("latency: what is not known to a tenth has a mark; what a few hooks take is not told apart") {
  Run run;
  prof_format::Header& h = run.writer.header();
  h.probe_inside = h.probe_outside = 150 * 256;
  h.probe_inside_spread = h.probe_outside_spread = 150 * 256;
  run.writer.node(run.a).cycles = 1101 * 400;
  const std::string text = latency(run.analyse());
  CHECK(cell(text, "Min", "a") == "~<1.20us");
  CHECK(cell(text, "Max", "a") == "~1.00ms");
}

TEST_CASE("latency: says why there is nothing to show") {
  Run run;
  run.writer.header().type = prof_format::kCount;
  CHECK_THROWS_WITH(latency(run.analyse()),
                    doctest::Contains(": has no durations of calls; prof run --latency takes them"));
}

TEST_CASE("latency: what changed between two runs is known if enough calls say so") {
  Run first, second;
  // Of a each lasts twice as long; of b one call is no more than chance.
  for (Run* run : {&first, &second}) run->writer.log_durations(run->thread, {{run->b, 1000}});
  const Block octave = second.writer.durations(second.of_a).octaves[2];
  second.writer.octave(octave).calls[0] = 0;
  second.writer.octave(second.writer.add_octave(second.of_a, 3)).calls[0] = 1000;
  prof::Comparison comparison(false);
  comparison.add(0, first.analyse());
  comparison.add(1, second.analyse());
  const prof::Difference difference = comparison.finish();
  for (const prof::ComparedFunction& f : difference.functions) {
    if (f.name != "a" && f.name != "b") continue;
    CHECK(prof::Difference::p50(f).is_known == (f.name == "a"));
    CHECK_FALSE(prof::Difference::greatest(f).is_known);
    if (f.name == "a") CHECK(prof::Difference::p50(f).second > 1.9 * prof::Difference::p50(f).first);
  }
  const std::string text = printed([&](prof::Output& out) { prof::print_latency_difference(difference, {}, out); });
  CHECK(text.find("1.06us->2.11us  +100%") != std::string::npos);
  CHECK(text.find("~<256ns->") == std::string::npos);
}
