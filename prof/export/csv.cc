// A line for each function, for spreadsheets and scripts. RFC 4180, but for lines that end as everywhere on Unix. What
// is not known is empty. Seconds have nine digits, so that sums are right to the nanosecond, and those of a call
// twelve.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "contexts.h"
#include "exports.h"
#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"
#include "prof/model/tree/modules.h"
#include "prof/views/text/text_columns.h"

namespace prof {

namespace {

std::string field_of(const std::string& text) { return csv_field(prof_text::printable(text)); }

std::string seconds_of(double seconds, int places = 9) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, seconds);
  return text;
}

class Csv : public Export {
 public:
  explicit Csv(Output& out) : out_(out) {}

  void add(const Analysis& part) override {
    if (!has_titles_) {
      if (part.process) out_.text("process,");
      if (part.thread) out_.text("thread,thread_name,");
      out_.text(
          "module,name,raw_name,address,calls,self_seconds,self_low,self_high,total_seconds,total_low,total_high,"
          "waiting_seconds,self_per_call,total_per_call,doubtful\n");
      has_titles_ = true;
    }
    const Modules modules(part);
    std::vector<uint32_t> rows;
    for (uint32_t f = 0; f < part.sums.size(); ++f)
      if (occurs(part, f) && modules.selected()[part.functions.functions()[f].object]) rows.push_back(f);
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      const FunctionSum &x = part.sums[a], &y = part.sums[b];
      return x.self != y.self ? x.self > y.self : x.calls > y.calls;
    });
    for (const uint32_t f : rows) write_row(part, f);
  }

 private:
  void write_row(const Analysis& part, uint32_t f) {
    const Function& function = part.functions.functions()[f];
    const FunctionSum& sum = part.sums[f];
    const bool has_calls = part.counts_calls_of(f);
    const bool has_total = part.has_total_of(f);
    if (part.process) out_.text(std::to_string(part.process) + ",");
    if (part.thread) out_.text(std::to_string(part.thread) + "," + field_of(part.thread_name) + ",");
    out_.text(field_of(part.functions.objects()[function.object].name()) + "," + field_of(function.name) + "," +
              field_of(function.raw_name) + "," +
              (function.is_inlined ? "" : prof_text::hexadecimal(function.address)) + ",");
    out_.text((has_calls ? std::to_string(sum.calls) : "") + ",");
    out_.text((part.timed() ? time(part, sum.self) : "") + ",");
    write_range_of_self(part, f);
    out_.text((has_total ? time(part, sum.total) : "") + ",");
    if (has_total)
      write_range(part, with_chance(sum.total_range, sum.total_variance));
    else
      out_.text(",,");
    out_.text(waiting(part, f) + ",");
    const double calls = double(sum.calls);
    out_.text((has_total && calls > 0 ? seconds_of(part.seconds(sum.self) / calls, 12) : "") + ",");
    out_.text((has_total && calls > 0 ? seconds_of(part.seconds(sum.total) / calls, 12) : "") + ",");
    write_doubts(part, f);
  }

  static std::string time(const Analysis& part, uint64_t cycles) {
    return seconds_of(double(nanoseconds(part, cycles)) / 1e9);
  }

  void write_range_of_self(const Analysis& part, uint32_t f) {
    if (!part.timed()) return out_.text(",,");
    if (!part.sampled) return write_range(part, with_chance(part.sums[f].self_range, part.sums[f].self_variance));
    const SampleRange range = range_of_function(*part.sampled, f);
    out_.text(seconds_of(part.sampled->seconds(range.low)) + "," + seconds_of(part.sampled->seconds(range.high)) + ",");
  }

  void write_range(const Analysis& part, const Range& range) {
    out_.text(seconds_of(part.seconds(range.low)) + "," + seconds_of(part.seconds(range.high)) + ",");
  }

  static std::string waiting(const Analysis& part, uint32_t f) {
    const FunctionSum& sum = part.sums[f];
    if (part.has_waiting()) return time(part, sum.self_waiting);
    if (!part.cpu) return "";
    const int64_t cycles = part.cpu->waiting(sum.self, part.cpu->sums[f].self);
    return (cycles < 0 ? "-" : "") + time(part, cycles < 0 ? -uint64_t(cycles) : uint64_t(cycles));
  }

  void write_doubts(const Analysis& part, uint32_t f) {
    const FunctionSum& sum = part.sums[f];
    bool of_calls = sum.has_doubtful_calls, of_times = sum.has_doubtful_total;
    if (part.cpu) {
      of_calls |= part.cpu->sums[f].has_doubtful_calls;
      of_times |= part.cpu->sums[f].has_doubtful_total;
    }
    out_.text(of_calls && of_times ? "calls times\n" : of_calls ? "calls\n" : of_times ? "times\n" : "\n");
  }

  Output& out_;
  bool has_titles_ = false;
};

}  // namespace

std::unique_ptr<Export> csv_export(Output& out) { return std::make_unique<Csv>(out); }

}  // namespace prof
