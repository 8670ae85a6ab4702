// A trace of instructions: printed in each form, and counted. The bytes are a file, if they begin as one; else they are
// chunks: each a byte for its kind, two for its length, and what is in it.

#include "libprof/format/trace.h"

#include <algorithm>
#include <string>

#include "fuzz.h"
#include "printed.h"
#include "prof/commands/options/message.h"
#include "prof/instructions/statistics/memory_statistics.h"
#include "prof/instructions/statistics/statistics_tables.h"
#include "prof/instructions/statistics/trace_counts.h"
#include "prof/instructions/trace/trace_listing.h"
#include "prof/instructions/trace/trace_reader.h"
#include "tests/unit/prof/instructions/trace_bytes.h"
#include "tests/unit/prof_fixture.h"

namespace {

using namespace prof_format;

constexpr unsigned kMaxRuns = 2000;  // a few bytes can stand for billions of instructions
constexpr uint64_t kMaxRepeated = 50;

std::string file_of(const std::string& input) {
  if (input.starts_with(std::string(kTraceMagic, sizeof kTraceMagic))) return input;
  std::string file = prof_test::bytes_of(prof_test::trace_header(0, kTraceMemory));
  for (size_t at = 0; at + 3 <= input.size();) {
    const auto byte = [&](size_t i) { return size_t(static_cast<unsigned char>(input[at + i])); };
    const std::string payload = input.substr(at + 3, byte(1) | byte(2) << 8);
    TraceChunk chunk{};
    chunk.kind = uint16_t(byte(0) % 16);
    chunk.word_size = byte(0) & 128 ? 4 : 2;
    chunk.thread = uint32_t(byte(0) >> 4 & 3);
    prof_test::add_chunk(file, chunk, payload);
    at += 3 + payload.size();
  }
  return file;
}

// Passes on the first runs, with accesses that repeat themselves a few times only.
class Some : public prof::TraceConsumer {
 public:
  explicit Some(prof::TraceConsumer& to) : to_(to) {}
  void new_run(const prof::TraceRun& run, const prof::TraceMemory& memory) override { to_.new_run(run, memory); }
  void run(prof::TracedThread thread, const prof::TraceRun& run, std::span<const prof::AccessValue> accesses) override {
    accesses_.assign(accesses.begin(), accesses.end());
    for (prof::AccessValue& access : accesses_) access.count = std::min(access.count, kMaxRepeated);
    to_.run(thread, run, accesses_);
    ++runs_;
  }
  void event(prof::TracedThread thread, const prof::TraceEvent& event) override { to_.event(thread, event); }
  bool is_done() const override { return runs_ >= kMaxRuns || to_.is_done(); }

 private:
  prof::TraceConsumer& to_;
  std::vector<prof::AccessValue> accesses_;
  unsigned runs_ = 0;
};

void list(const std::string& path, prof::ListingForm form, prof::Output& out) {
  prof::TraceReader reader(path);
  prof::TraceNames names({}, false);
  prof::TraceFilter filter;
  prof::TraceListing listing(filter, form, names, out);
  Some some(listing);
  reader.read(some);
  listing.finish();
  prof::say_all(reader.remarks());
}

void count(const std::string& path, prof::Output& out) {
  prof::TraceReader reader(path);
  prof::TraceNames names({}, false);
  prof::TraceCounts counts(names);
  Some some(counts);
  reader.read(some);
  counts.finish();
  prof::MemoryOptions options;
  options.window = 3;
  options.with_reuse = true;
  options.caches.emplace();
  prof::MemoryStatistics memory(options);
  prof::TraceReader again(path);
  Some some_again(memory);
  again.read(some_again);
  memory.finish();
  prof::TraceSummary summary;
  summary.instructions = counts.total();
  summary.command = reader.command();
  const auto tables = prof::statistics_tables(counts, memory, names, true);
  prof::print_statistics_text(summary, tables, {}, out);
  prof::print_statistics_json(summary, tables, out);
  prof::print_statistics_csv(summary, tables, out);
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static prof_test::TemporaryDirectory directory;
  static const std::string path = directory / "trace";
  prof_test::write_file(path, file_of(std::string(reinterpret_cast<const char*>(data), size)));
  const fuzz::Messages messages;
  const fuzz::Printed printed;
  try {
    prof::Output out(printed.stream, "printed");
    for (const auto form : {prof::ListingForm::text, prof::ListingForm::lackey, prof::ListingForm::drcachesim})
      list(path, form, out);
    count(path, out);
    out.finish();
  } catch (const prof::Error& e) {
    prof::say(e.what());
  }
  return 0;
}
