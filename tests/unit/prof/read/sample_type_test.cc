#include <doctest/doctest.h>

#include <cmath>

#include "prof/model/analysis/analysis.h"
#include "prof/read/error.h"
#include "tests/unit/prof_analysed.h"

using namespace prof_test;
using prof::Analysis;

using Run = AnalysedRun;

TEST_CASE("samples: each is worth its period; those of libraries and of the kernel are children") {
  Run run;
  run.writer.header().type = prof_format::kSample;
  run.writer.header().sample_period = 4'000'000;
  const Block a = run.call(0, 'a', 3, 0), b = run.call(a, 'b', 7, 0);
  run.writer.node(a).samples = 10;
  run.writer.node(a).kernel_samples = 5;
  run.writer.node(b).samples = 20;
  run.writer.node(b).library_samples = 20;
  run.writer.node(b).sample_squares = 400;  // ten came at once, on average
  const Analysis analysis = run.analyse();
  CHECK(analysis.by_samples());
  const double period = 0.004 * (analysis.tsc_hz > 0 ? analysis.tsc_hz : 1e9);
  auto samples = [&](uint64_t cycles) { return std::lround(double(cycles) / period); };
  CHECK(samples(sum_of(analysis, "a").self) == 10);
  CHECK(samples(sum_of(analysis, "a").total) == 55);
  CHECK(samples(sum_of(analysis, "b").total) == 40);
  CHECK(samples(sum_of(analysis, "[kernel]").self) == 5);
  CHECK(samples(sum_of(analysis, "[libraries]").self) == 20);
  CHECK(sum_of(analysis, "[libraries]").calls == 0);
  CHECK(std::lround(sum_of(analysis, "a").self_variance / period / period) == 10);
  CHECK(std::lround(sum_of(analysis, "b").self_variance / period / period) == 200);
  CHECK(std::lround(sum_of(analysis, "a").total_variance / period / period) == 415);

  CHECK(analysis.timed());

  run.writer.header().sample_period = 0;
  CHECK_THROWS_AS(run.analyse(), prof::Error);
}

TEST_CASE("samples: how many, by how many signals, and which part in hooks") {
  Run run;
  run.writer.header().type = prof_format::kSample;
  run.writer.header().sample_period = 4'000'000;
  run.writer.node(run.call(0, 'a', 3, 0)).samples = 40;
  prof_format::Thread& thread = run.writer.thread(run.thread);
  auto last_remarks = [&](size_t n) {
    const std::vector<std::string> remarks = run.analyse().remarks;
    std::string text;
    for (size_t i = remarks.size() - std::min(n, remarks.size()); i < remarks.size(); ++i) text += remarks[i] + "\n";
    return text;
  };
  auto tells = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
  thread.hook_samples = 10;
  thread.sample_signals = 50;
  std::string text = last_remarks(1);
  CHECK(tells(text, ": 50 samples, one every 4 ms on a processor; 20 % of them in hooks, left out\n"));
  CHECK(run.analyse().sample_signals == 50);
  thread.hook_samples = 60;
  text = last_remarks(2);
  CHECK(tells(text,
              ": 100 samples, one every 4 ms on a processor; 50 signals brought them, because of other load; 60 %"));
  CHECK(tells(text, "prof run --true"));
}

TEST_CASE("samples: the histogram has the addresses of all threads; what found no room is told") {
  Run run;
  run.writer.header().type = prof_format::kSample;
  run.writer.header().sample_period = 4'000'000;
  run.writer.node(run.call(0, 'a', 3, 0)).samples = 40;
  auto histogram = [&](Block thread, std::vector<std::pair<uint64_t, uint64_t>> samples) {
    // As libprof makes it, beside the root of calls.
    const Block root = run.writer.add_node(run.writer.root(thread), 0, 0, 0);
    run.writer.node(run.writer.root(thread)).child = run.writer.node(root).sibling;
    run.writer.node(root).parent = run.writer.node(root).sibling = 0;
    run.writer.thread(thread).addresses = root;
    for (const auto& [address, count] : samples)
      run.writer.node(run.writer.add_node(root, Run::kBias + address, 0, 0)).samples = count;
    return root;
  };
  const Block root = histogram(run.thread, {{0x10105, 20}, {0x300, 2}, {0x900000, 1}});
  histogram(run.writer.add_thread(2), {{0x10105, 10}, {0x10205, 7}});
  auto text = [&] {
    std::string all;
    for (const prof::AddressSamples& s : run.analyse().histogram)
      all += std::to_string(s.object) + ":" + std::to_string(s.address) + ":" + std::to_string(s.samples) + " ";
    return all;
  };
  // The program has no .prof.steps, so addresses in copies are those of functions. 0x900000 is in no module.
  CHECK(text() == "0:256:30 0:512:7 0:768:2 ");
  CHECK(lines(run.analyse().remarks).find("no room") == std::string::npos);
  run.writer.node(root).samples = 5;
  CHECK(run.analyse().samples_without_room == 5);
  CHECK(lines(run.analyse().remarks).find("the addresses of 5 samples found no room") != std::string::npos);
  // Links of a damaged file.
  run.writer.thread(run.thread).addresses = run.writer.root(run.thread);  // the tree of calls
  CHECK(text() == "0:256:10 0:512:7 ");
  run.writer.thread(run.thread).addresses = 0xffffffff;
  CHECK(text() == "0:256:10 0:512:7 ");
}

TEST_CASE("samples: without any, no times are shown") {
  Run run;
  run.writer.header().type = prof_format::kSample;
  run.writer.header().sample_period = 4'000'000;
  run.writer.header().flags |= prof_format::kNoSampling;
  run.call(0, 'a', 3, 0);
  const Analysis analysis = run.analyse();
  CHECK(!analysis.timed());
  CHECK(analysis.remarks.front().find("no signal was free for samples") != std::string::npos);
}
