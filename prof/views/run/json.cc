#include <algorithm>
#include <cmath>
#include <vector>

#include "linker-rewrite/text/numbers.h"
#include "order.h"
#include "prof/model/tree/modules.h"
#include "prof/views/text/json_writer.h"
#include "prof/views/text/numbers.h"
#include "views.h"

namespace prof {

namespace {

uint64_t rounded(double n) { return uint64_t(std::llround(std::min(n, 0x1p62))); }

// Written as a stream: a document of a million nodes built in memory first would take gigabytes.
class Writer {
 public:
  Writer(const Analysis& analysis, std::optional<SortKey> order, const Pruning& pruning, JsonWriter& json)
      : analysis_(analysis), modules_(analysis), shares_(analysis), json_(json) {
    const std::vector<CallNode>& nodes = analysis.tree.nodes;
    const std::vector<bool> selected = shown_nodes(analysis, modules_, pruning).is_shown;
    std::vector<bool> has_function = selected_functions(analysis, modules_);
    if (analysis.contexts.is_any())
      for (uint32_t f = 0; f < has_function.size(); ++f) has_function[f] = has_function[f] && occurs(analysis, f);
    for (size_t i = 1; i < nodes.size(); ++i)
      if (selected[i]) has_function[nodes[i].function] = true;
    choose_functions(has_function, order);
    number(selected, 1, node_numbers_);
    if (analysis.contexts.is_any()) {
      shares_.add(analysis.contexts.whole);
    } else {
      for (const FunctionSum& sum : analysis.sums) shares_.add(sum);
    }
  }

  void write() {
    json_.begin_object();
    write_head();
    begin_list("modules");
    write_modules();
    json_.end_array();
    begin_list("functions");
    write_functions();
    json_.end_array();
    if (analysis_.from_outside() || analysis_.by_samples()) {
      begin_list("histogram");
      write_histogram();
      json_.end_array();
    }
    begin_list("tree");
    write_tree();
    json_.end_array();
    if (!analysis_.blocks.empty()) {
      begin_list("blocks");
      write_blocks();
      json_.end_array();
    }
    json_.end_object();
  }

 private:
  static constexpr uint32_t kLeftOut = UINT32_MAX;

  void begin_list(JsonName name) {
    json_.new_line();
    json_.begin_array(name);
  }
  void begin_in_line() {
    json_.new_line();
    json_.begin_object();
  }

  // Numbers what is selected, from `first` on, in the order in which it is written.
  static void number(const std::vector<bool>& selected, size_t first, std::vector<uint32_t>& numbers) {
    numbers.assign(selected.size(), kLeftOut);
    uint32_t next = 0;
    for (size_t i = first; i < selected.size(); ++i)
      if (selected[i]) numbers[i] = next++;
  }

  // Which functions are written, and in which order.
  void choose_functions(const std::vector<bool>& selected, std::optional<SortKey> order) {
    const std::vector<Function>& functions = analysis_.functions.functions();
    for (uint32_t f = 0; f < selected.size(); ++f)
      if (selected[f]) functions_.push_back(f);
    auto ranked = [&](uint32_t f) { return Ranked{analysis_.sums[f], functions[f].name, functions[f].address}; };
    if (order)
      std::stable_sort(functions_.begin(), functions_.end(),
                       [&](uint32_t a, uint32_t b) { return comes_before(*order, ranked(a), ranked(b)); });
    function_numbers_.assign(selected.size(), kLeftOut);
    for (uint32_t i = 0; i < functions_.size(); ++i) function_numbers_[functions_[i]] = i;
  }

  void write_head() {
    json_.member("program", analysis_.program);
    json_.member("type", analysis_.properties().name);
    write_profiles();
    json_.member("tsc_hz", rounded(analysis_.tsc_hz));
    json_.member("complete", analysis_.complete);
    json_.member("lost", analysis_.lost);
    json_.member("folded", analysis_.folded);
    if (analysis_.lost_durations != 0) json_.member("lost_durations", analysis_.lost_durations);
    json_.member("limited", analysis_.limited);
    json_.member("recorded_cycles", uint64_t(std::min(analysis_.duration, 1e18)));
    const std::optional<double> processor =
        analysis_.process ? analysis_.part_times.processor : analysis_.run_times.processor;
    if (processor) json_.member("processor_seconds", *processor);
    if (analysis_.run_times.preempted) json_.member("preempted_times", *analysis_.run_times.preempted);
    write_coverage();
    if (analysis_.process) write_part();
    if (analysis_.contexts.is_any()) write_contexts();
    if (analysis_.sampled) {
      write_samples(*analysis_.sampled);
    } else if (analysis_.by_samples()) {
      json_.new_line();
      json_.member("sample_period_ns", analysis_.sample_period);
      json_.member("hook_samples", analysis_.hook_samples);
      json_.member("sample_signals", analysis_.sample_signals);
      json_.member("samples_without_room", analysis_.samples_without_room);
    }
  }

  // Of modules of whose code little has hooks.
  void write_coverage() {
    const std::vector<ModuleCoverage> modules = low_coverages(analysis_);
    if (modules.empty()) return;
    begin_list("code");
    for (size_t i = 0; i < modules.size(); ++i) {
      const prof_format::CodeCoverage& code = modules[i].code;
      if (i) json_.new_line();
      json_.begin_object();
      json_.member("module", modules[i].module);
      json_.member("hooked", code.hooked);
      json_.member("stays", code.stays);
      json_.member("not_chosen", code.not_chosen);
      json_.member("stubs", code.stubs);
      json_.member("padding", code.padding);
      json_.member("unknown", code.unknown);
      json_.end_object();
    }
    json_.end_array();
  }

  // Of a process or a thread that is shown apart: what the lists of them have.
  void write_part() {
    const PartTimes& times = analysis_.part_times;
    if (times.waiting) json_.member("waiting_seconds", *times.waiting);
    json_.member("calls", times.calls);
    json_.new_line();
    json_.member("process", analysis_.process);
    json_.member("parent_process", analysis_.parent_process);
    json_.member("command", analysis_.command);
    if (!analysis_.thread) return;
    json_.member("thread", analysis_.thread);
    json_.member("thread_name", analysis_.thread_name);
  }

  // Which contexts are left, and what all had.
  void write_contexts() {
    const SelectedContexts& contexts = analysis_.contexts;
    auto patterns = [&](JsonName name, const std::vector<std::string>& list) {
      if (list.empty()) return;
      json_.begin_array(name);
      for (const std::string& pattern : list) json_.value(pattern);
      json_.end_array();
    };
    json_.new_line();
    json_.begin_object("contexts");
    patterns("focus", contexts.focus);
    patterns("ignore", contexts.ignore);
    patterns("callers", contexts.callers);
    patterns("callees", contexts.callees);
    json_.end_object();
    json_.member("whole_calls", contexts.whole.calls);
    json_.member("whole_self_cycles", contexts.whole.self);
  }

  void write_profiles() {
    const RunTimes& run = analysis_.run_times;
    json_.begin_array("profiles");
    for (const std::string& profile : analysis_.profiles) json_.value(profile);
    json_.end_array();
    json_.member("runs", run.runs());
    json_.member("processes", run.processes);
    json_.member("threads", run.threads);
    const bool is_part = analysis_.process != 0;
    json_.member("elapsed_seconds", is_part ? analysis_.part_times.elapsed.value_or(0) : run.elapsed);
  }

  // What is known of samples, of all functions together.
  void write_samples(const SampledTimes& sampled) {
    json_.new_line();
    json_.member("sample_period_ns", sampled.period);
    json_.member("user_samples", sampled.user);
    json_.name("kernel_samples");
    if (sampled.has_kernel) {
      json_.value(sampled.kernel);
    } else {
      json_.null();
    }
    json_.member("lost_samples", sampled.lost);
    json_.member("user_seconds", double(sampled.user_time) / 1e9);
  }

  void write_samples_of(size_t function, const SampledTimes& sampled) {
    const uint64_t samples = sampled.samples[function];
    const SampleRange range = range_of_function(sampled, function);
    const double hz = analysis_.rate();
    json_.member("samples", samples);
    json_.member("self_seconds", sampled.seconds(double(samples) * sampled.own_part(function).likely));
    json_.member("self_low", rounded(sampled.seconds(range.low) * hz));
    json_.member("self_high", rounded(sampled.seconds(range.high) * hz));
    json_.member("counted", sampled.is_counted[function]);
  }

  void write_modules() {
    for (size_t i = 0; i < modules_.sums().size(); ++i) {
      const ModuleSum& m = modules_.sums()[i];
      if (!modules_.selected()[i] || (m.functions == 0 && i != 0)) continue;
      const Object& object = analysis_.functions.objects()[i];
      begin_in_line();
      json_.member("name", object.name());
      json_.member("path", object.path());
      json_.member("build_id", prof_text::hexadecimal_of(object.original_build_id()));
      json_.member("rewritten", object.is_rewritten());
      json_.member("functions", m.functions);
      json_.member("calls", m.sum.calls);
      json_.member("self_cycles", m.sum.self);
      if (analysis_.from_outside()) json_.member("samples", m.samples);
      range_of_self(m.sum);
      if (analysis_.has_waiting()) {
        json_.member("self_waiting_cycles", m.sum.self_waiting);
        json_.member("self_preempted_cycles", m.sum.self_preempted);
      }
      if (analysis_.cpu) {
        json_.member("cpu_calls", m.on_processor.calls);
        json_.member("self_cpu_cycles", m.on_processor.self);
        waiting("self_waiting_cycles", m.sum.self, m.on_processor.self);
      }
      doubts(m.sum.has_doubtful_calls || m.on_processor.has_doubtful_calls,
             m.sum.has_doubtful_self || m.on_processor.has_doubtful_self);
      json_.end_object();
    }
  }

  void write_functions() {
    const std::vector<Function>& functions = analysis_.functions.functions();
    for (const uint32_t i : functions_) {
      const Function& f = functions[i];
      begin_in_line();
      json_.member("name", f.name);
      json_.member("raw_name", f.raw_name);
      json_.member("module", analysis_.functions.objects()[f.object].name());
      if (f.is_inlined) {
        json_.member("is_inlined", true);
        if (!f.file.empty()) json_.member("file", f.file);
        if (f.line != 0) json_.member("line", f.line);
      } else {
        json_.member("address", prof_text::hexadecimal(f.address));
      }
      if (f.is_import) json_.member("imported", true);
      if (i < analysis_.sources.size()) write_source(analysis_.sources[i]);
      json_.member("calls", analysis_.sums[i].calls);
      json_.member("self_cycles", analysis_.sums[i].self);
      json_.member("total_cycles", analysis_.sums[i].total);
      write_share(analysis_.sums[i]);
      json_.member("self_probe_cycles", analysis_.sums[i].self_probe);
      json_.member("total_probe_cycles", analysis_.sums[i].total_probe);
      errors(analysis_.sums[i].self_variance, analysis_.sums[i].total_variance);
      if (analysis_.sampled)
        write_samples_of(i, *analysis_.sampled);
      else
        range_of_self(analysis_.sums[i]);
      if (analysis_.has_total_of(i)) range_of_total(analysis_.sums[i], "total_low", "total_high");
      if (analysis_.has_waiting()) {
        json_.member("self_waiting_cycles", analysis_.sums[i].self_waiting);
        json_.member("total_waiting_cycles", analysis_.sums[i].total_waiting);
        json_.member("self_preempted_cycles", analysis_.sums[i].self_preempted);
        json_.member("total_preempted_cycles", analysis_.sums[i].total_preempted);
      }
      bool has_doubtful_calls = analysis_.sums[i].has_doubtful_calls;
      bool has_doubtful_cycles = analysis_.sums[i].has_doubtful_total;
      if (analysis_.cpu) {
        const FunctionSum& other = analysis_.cpu->sums[i];
        has_doubtful_calls |= other.has_doubtful_calls;
        has_doubtful_cycles |= other.has_doubtful_total;
        json_.member("cpu_calls", other.calls);
        json_.member("self_cpu_cycles", other.self);
        json_.member("total_cpu_cycles", other.total);
        json_.member("self_cpu_probe_cycles", other.self_probe);
        json_.member("total_cpu_probe_cycles", other.total_probe);
        waiting("self_waiting_cycles", analysis_.sums[i].self, other.self);
        waiting("total_waiting_cycles", analysis_.sums[i].total, other.total);
      }
      doubts(has_doubtful_calls, has_doubtful_cycles);
      if (i < analysis_.durations.size() && analysis_.durations[i].calls() != 0)
        write_durations(analysis_.durations[i]);
      json_.end_object();
    }
  }

  void write_durations(const CallDurations& durations) {
    json_.begin_object("durations");
    json_.member("calls", durations.calls());
    if (durations.are_of_first_calls()) json_.member("of_first_calls", true);
    json_.member("least_cycles", durations.least());
    json_.member("greatest_cycles", durations.greatest());
    json_.member("p50_cycles", durations.percentile(0.5));
    json_.member("p90_cycles", durations.percentile(0.9));
    json_.member("p99_cycles", durations.percentile(0.99));
    json_.member("p999_cycles", durations.percentile(0.999));
    json_.begin_array("buckets");
    for (const CallDurations::Bucket& bucket : durations.buckets()) {
      json_.begin_array();
      json_.value(bucket.low);
      json_.value(bucket.high);
      json_.value(bucket.calls);
      json_.end_array();
    }
    json_.end_array();
    json_.end_object();
  }

  void write_histogram() {
    for (const AddressSamples& at : analysis_.histogram) {
      if (!modules_.selected()[at.object]) continue;
      begin_in_line();
      json_.member("module", analysis_.functions.objects()[at.object].name());
      json_.member("address", prof_text::hexadecimal(at.address));
      json_.member("samples", at.samples);
      json_.end_object();
    }
  }

  void write_place(const std::string& file, unsigned line) {
    if (file.empty()) return;
    json_.member("file", file);
    if (line) json_.member("line", line);
  }

  void write_source(const FunctionSource& source) {
    write_place(source.file, source.line);
    if (source.bytes == 0) return;
    json_.member("code_bytes", source.bytes);
    json_.begin_array("inlined");
    for (const InlinedFunction& f : source.inlined) {
      json_.begin_object();
      json_.member("name", f.name);
      write_place(f.file, f.line);
      json_.member("places", f.places);
      json_.member("code_bytes", f.bytes);
      if (!analysis_.histogram.empty()) json_.member("samples", f.samples);
      json_.end_object();
    }
    json_.end_array();
  }

  // What the table has beside times and calls.
  void write_share(const FunctionSum& sum) {
    const Share share = shares_.of(sum);
    json_.member("share", share.likely);
    json_.member("share_low", share.range.low);
    json_.member("share_high", share.range.high);
    if (analysis_.timed() && sum.calls != 0) json_.member("cycles_per_call", double(sum.total) / double(sum.calls));
  }

  // The root stands for the world outside; it is left out, and its children's parent is -1.
  void write_tree() {
    const std::vector<CallNode>& nodes = analysis_.tree.nodes;
    for (size_t i = 1; i < nodes.size(); ++i) {
      if (node_numbers_[i] == kLeftOut) continue;
      const CallNode& node = nodes[i];
      begin_in_line();
      json_.member("function", function_numbers_[node.function]);
      json_.member("parent", node.parent == 0 ? -1 : int64_t(node_numbers_[node.parent]));
      if (node.has_tail_calls && analysis_.contexts.callers.empty()) json_.member("tail", true);
      json_.member("calls", node.calls);
      if (node.has_estimated_calls) json_.member("calls_estimated", true);
      json_.member("cycles", node.total);
      json_.member("self_cycles", node.self);
      errors(node.self_variance, node.total_variance);
      range_of_self(node);
      range_of_total(node, "low", "high");
      if (analysis_.has_waiting()) {
        json_.member("waiting_cycles", node.total_waiting);
        json_.member("self_waiting_cycles", node.self_waiting);
        json_.member("preempted_cycles", node.total_preempted);
        json_.member("self_preempted_cycles", node.self_preempted);
      }
      bool has_doubtful_calls = node.has_doubtful_calls, has_doubtful_cycles = node.has_doubtful_total;
      if (analysis_.cpu) {
        const CallNode& other = analysis_.cpu->tree.nodes[i];
        has_doubtful_calls |= other.has_doubtful_calls;
        has_doubtful_cycles |= other.has_doubtful_total;
        json_.member("cpu_calls", other.calls);
        json_.member("cpu_cycles", other.total);
        json_.member("self_cpu_cycles", other.self);
        waiting("waiting_cycles", node.total, other.total);
        waiting("self_waiting_cycles", node.self, other.self);
      }
      doubts(has_doubtful_calls, has_doubtful_cycles);
      json_.end_object();
    }
  }

  // Of selected modules.
  void write_blocks() {
    for (const BlockCount& b : analysis_.blocks) {
      if (!modules_.selected()[b.object]) continue;
      begin_in_line();
      json_.member("module", analysis_.functions.objects()[b.object].name());
      json_.member("address", prof_text::hexadecimal(b.address));
      json_.member("size", b.size);
      json_.member("count", b.count);
      json_.end_object();
    }
  }

  // Standard errors of estimated times.
  void errors(double self_variance, double total_variance) {
    if (!analysis_.estimated()) return;
    json_.member("self_error_cycles", rounded(std::sqrt(self_variance)));
    json_.member("total_error_cycles", rounded(std::sqrt(total_variance)));
  }
  // What the times of a function or a node may be.
  template <class Times>
  void range_of_self(const Times& times) {
    if (analysis_.timed()) range("self_low", "self_high", with_chance(times.self_range, times.self_variance));
  }
  template <class Times>
  void range_of_total(const Times& times, JsonName low, JsonName high) {
    if (analysis_.timed()) range(low, high, with_chance(times.total_range, times.total_variance));
  }
  void range(JsonName low, JsonName high, const Range& range) {
    json_.member(low, rounded(range.low));
    json_.member(high, rounded(range.high));
  }
  void doubts(bool of_calls, bool of_cycles) {
    if (of_calls) json_.member("doubtful_calls", true);
    if (of_cycles) json_.member("doubtful_cycles", true);
  }
  void waiting(JsonName name, uint64_t elapsed, uint64_t on_processor) {
    json_.member(name, analysis_.cpu->waiting(elapsed, on_processor));
  }

  const Analysis& analysis_;
  const Modules modules_;
  Shares shares_;
  std::vector<uint32_t> functions_;                        // indices of those that are written, in their order
  std::vector<uint32_t> function_numbers_, node_numbers_;  // by index; kLeftOut of those that are not selected
  JsonWriter& json_;
};

}  // namespace

void write_json(const Analysis& analysis, std::optional<SortKey> order, JsonWriter& json, const Pruning& pruning) {
  Writer(analysis, order, pruning, json).write();
}

void print_json(const Analysis& analysis, std::optional<SortKey> order, Output& out, const Pruning& pruning) {
  JsonWriter json(out);
  write_json(analysis, order, json, pruning);
  out.byte('\n');
}

}  // namespace prof
