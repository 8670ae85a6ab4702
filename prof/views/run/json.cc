#include <algorithm>
#include <cmath>
#include <vector>

#include "order.h"
#include "prof/model/tree/coverage.h"
#include "prof/model/tree/modules.h"
#include "prof/views/text/json_text.h"
#include "prof/views/text/shares.h"
#include "text/hexadecimal.h"
#include "views.h"

namespace prof {

namespace {

uint64_t rounded(double n) { return uint64_t(std::llround(std::min(n, 0x1p62))); }

// Written as a stream: a document of a million nodes built in memory first would take gigabytes.
class Writer {
 public:
  Writer(const Analysis& analysis, std::optional<SortKey> order, const Pruning& pruning, Output& out)
      : analysis_(analysis), modules_(analysis), shares_(analysis), out_(out) {
    const std::vector<CallNode>& nodes = analysis.tree.nodes;
    const std::vector<bool> selected = shown_nodes(analysis, modules_, pruning).is_shown;
    std::vector<bool> has_function = selected_functions(analysis, modules_);
    if (analysis.contexts.is_any())
      for (uint32_t f = 0; f < has_function.size(); ++f) has_function[f] = has_function[f] && occurs(analysis, f);
    for (size_t i = 1; i < nodes.size(); ++i)
      if (selected[i]) has_function[nodes[i].function] = true;
    choose_functions(has_function, order);
    number(selected, 1, node_numbers_);
    if (analysis.whole) {
      shares_.add(*analysis.whole);
    } else {
      for (const FunctionSum& sum : analysis.sums) shares_.add(sum);
    }
  }

  void write() {
    out_.byte('{');
    write_head();
    out_.text(",\n\"modules\":[");
    write_modules();
    out_.text("],\n\"functions\":[");
    write_functions();
    if (analysis_.sampled || analysis_.by_samples) {
      out_.text("],\n\"histogram\":[");
      write_histogram();
    }
    out_.text("],\n\"tree\":[");
    write_tree();
    if (!analysis_.blocks.empty()) {
      out_.text("],\n\"blocks\":[");
      write_blocks();
    }
    out_.text("]}\n");
  }

 private:
  static constexpr uint32_t kLeftOut = UINT32_MAX;

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
    out_.text("\"program\":" + json_text(analysis_.program));
    out_.text(std::string(",\"type\":\"") + type_name(analysis_) + "\"");
    write_profiles();
    field(",\"tsc_hz\":", rounded(analysis_.tsc_hz));
    out_.text(std::string(",\"complete\":") + (analysis_.complete ? "true" : "false"));
    field(",\"lost\":", analysis_.lost);
    field(",\"folded\":", analysis_.folded);
    out_.text(std::string(",\"limited\":") + (analysis_.limited ? "true" : "false"));
    field(",\"recorded_cycles\":", uint64_t(std::min(analysis_.duration, 1e18)));
    const std::optional<double> processor =
        analysis_.process ? analysis_.part_times.processor : analysis_.run_times.processor;
    if (processor) out_.text(",\"processor_seconds\":" + json_number(*processor));
    if (analysis_.run_times.preempted) field(",\"preempted_times\":", *analysis_.run_times.preempted);
    write_coverage();
    if (analysis_.process) write_part();
    if (analysis_.contexts.is_any()) write_contexts();
    if (analysis_.sampled) {
      write_samples(*analysis_.sampled);
    } else if (analysis_.by_samples) {
      field(",\n\"sample_period_ns\":", analysis_.sample_period);
      field(",\"hook_samples\":", analysis_.hook_samples);
      field(",\"sample_signals\":", analysis_.sample_signals);
      field(",\"samples_without_room\":", analysis_.samples_without_room);
    }
  }

  // Of modules of whose code little has hooks.
  void write_coverage() {
    const std::vector<ModuleCoverage> modules = low_coverages(analysis_);
    if (modules.empty()) return;
    out_.text(",\n\"code\":[");
    for (size_t i = 0; i < modules.size(); ++i) {
      const prof_format::CodeCoverage& code = modules[i].code;
      out_.text((i ? ",\n{\"module\":" : "{\"module\":") + json_text(modules[i].module));
      field(",\"hooked\":", code.hooked);
      field(",\"stays\":", code.stays);
      field(",\"not_chosen\":", code.not_chosen);
      field(",\"stubs\":", code.stubs);
      field(",\"padding\":", code.padding);
      field(",\"unknown\":", code.unknown);
      out_.byte('}');
    }
    out_.byte(']');
  }

  // Of a process or a thread that is shown apart: what the lists of them have.
  void write_part() {
    const PartTimes& times = analysis_.part_times;
    if (times.waiting) out_.text(",\"waiting_seconds\":" + json_number(*times.waiting));
    field(",\"calls\":", times.calls);
    field(",\n\"process\":", analysis_.process);
    field(",\"parent_process\":", analysis_.parent_process);
    out_.text(",\"command\":" + json_text(analysis_.command));
    if (!analysis_.thread) return;
    field(",\"thread\":", analysis_.thread);
    out_.text(",\"thread_name\":" + json_text(analysis_.thread_name));
  }

  // Which contexts are left, and what all had.
  void write_contexts() {
    const ContextSelection& contexts = analysis_.contexts;
    bool is_first = true;
    auto patterns = [&](const char* name, const std::vector<std::string>& list) {
      if (list.empty()) return;
      out_.text(std::string(is_first ? "\"" : ",\"") + name + "\":[");
      is_first = false;
      for (size_t i = 0; i < list.size(); ++i) out_.text((i ? "," : "") + json_text(list[i]));
      out_.byte(']');
    };
    out_.text(",\n\"contexts\":{");
    patterns("focus", contexts.focus);
    patterns("ignore", contexts.ignore);
    patterns("callers", contexts.callers);
    patterns("callees", contexts.callees);
    out_.byte('}');
    field(",\"whole_calls\":", analysis_.whole->calls);
    field(",\"whole_self_cycles\":", analysis_.whole->self);
  }

  void write_profiles() {
    const RunTimes& run = analysis_.run_times;
    out_.text(",\"profiles\":[");
    for (size_t i = 0; i < analysis_.profiles.size(); ++i) out_.text((i ? "," : "") + json_text(analysis_.profiles[i]));
    field("],\"runs\":", run.runs());
    field(",\"processes\":", run.processes);
    field(",\"threads\":", run.threads);
    const bool is_part = analysis_.process != 0;
    out_.text(",\"elapsed_seconds\":" + json_number(is_part ? analysis_.part_times.elapsed.value_or(0) : run.elapsed));
  }

  // What is known of samples, of all functions together.
  void write_samples(const SampledTimes& sampled) {
    field(",\n\"sample_period_ns\":", sampled.period);
    field(",\"user_samples\":", sampled.user);
    out_.text(",\"kernel_samples\":" + (sampled.has_kernel ? std::to_string(sampled.kernel) : "null"));
    field(",\"lost_samples\":", sampled.lost);
    out_.text(",\"user_seconds\":" + json_number(double(sampled.user_time) / 1e9));
  }

  void write_samples_of(size_t function, const SampledTimes& sampled) {
    const uint64_t samples = sampled.samples[function];
    const SampleRange range = range_of(samples, sampled.weight);
    const double hz = analysis_.rate();
    field(",\"samples\":", samples);
    out_.text(",\"self_seconds\":" + json_number(sampled.seconds(double(samples))));
    field(",\"self_low\":", rounded(sampled.seconds(range.low) * hz));
    field(",\"self_high\":", rounded(sampled.seconds(range.high) * hz));
    out_.text(std::string(",\"counted\":") + (sampled.is_counted[function] ? "true" : "false"));
  }

  void write_modules() {
    bool is_first = true;
    for (size_t i = 0; i < modules_.sums().size(); ++i) {
      const ModuleSum& m = modules_.sums()[i];
      if (!modules_.selected()[i] || (m.functions == 0 && i != 0)) continue;
      out_.text(is_first ? "\n" : ",\n");
      is_first = false;
      const Object& object = analysis_.functions.objects()[i];
      const std::string& id = object.original_build_id();
      out_.text("{\"name\":" + json_text(object.name()) + ",\"path\":" + json_text(object.path()));
      out_.text(",\"build_id\":\"" + prof_text::hexadecimal_of(id) + "\"");
      out_.text(std::string(",\"rewritten\":") + (object.is_rewritten() ? "true" : "false"));
      field(",\"functions\":", m.functions);
      field(",\"calls\":", m.sum.calls);
      field(",\"self_cycles\":", m.sum.self);
      if (analysis_.sampled) {
        field(",\"samples\":", m.samples);
      } else if (analysis_.timed) {
        const Range self = with_chance(m.sum.self_range, m.sum.self_variance);
        field(",\"self_low\":", rounded(self.low));
        field(",\"self_high\":", rounded(self.high));
      }
      if (analysis_.has_waiting) {
        field(",\"self_waiting_cycles\":", m.sum.self_waiting);
        field(",\"self_preempted_cycles\":", m.sum.self_preempted);
      }
      if (analysis_.cpu) {
        field(",\"cpu_calls\":", m.on_processor.calls);
        field(",\"self_cpu_cycles\":", m.on_processor.self);
        waiting(",\"self_waiting_cycles\":", m.sum.self, m.on_processor.self);
      }
      doubts(m.sum.has_doubtful_calls || m.on_processor.has_doubtful_calls,
             m.sum.has_doubtful_self || m.on_processor.has_doubtful_self);
      out_.byte('}');
    }
  }

  void write_functions() {
    const std::vector<Function>& functions = analysis_.functions.functions();
    for (const uint32_t i : functions_) {
      const Function& f = functions[i];
      out_.text(function_numbers_[i] ? ",\n" : "\n");
      out_.text("{\"name\":" + json_text(f.name) + ",\"raw_name\":" + json_text(f.raw_name) +
                ",\"module\":" + json_text(analysis_.functions.objects()[f.object].name()));
      out_.text(",\"address\":\"" + prof_text::hexadecimal(f.address) + "\"");
      if (f.is_import) out_.text(",\"imported\":true");
      if (i < analysis_.sources.size()) write_source(analysis_.sources[i]);
      field(",\"calls\":", analysis_.sums[i].calls);
      field(",\"self_cycles\":", analysis_.sums[i].self);
      field(",\"total_cycles\":", analysis_.sums[i].total);
      write_share(analysis_.sums[i]);
      field(",\"self_probe_cycles\":", analysis_.sums[i].self_probe);
      field(",\"total_probe_cycles\":", analysis_.sums[i].total_probe);
      errors(analysis_.sums[i].self_variance, analysis_.sums[i].total_variance);
      if (analysis_.sampled)
        write_samples_of(i, *analysis_.sampled);
      else
        ranges(analysis_.sums[i], "self_low", "self_high", "total_low", "total_high");
      if (analysis_.has_waiting) {
        field(",\"self_waiting_cycles\":", analysis_.sums[i].self_waiting);
        field(",\"total_waiting_cycles\":", analysis_.sums[i].total_waiting);
        field(",\"self_preempted_cycles\":", analysis_.sums[i].self_preempted);
        field(",\"total_preempted_cycles\":", analysis_.sums[i].total_preempted);
      }
      bool has_doubtful_calls = analysis_.sums[i].has_doubtful_calls;
      bool has_doubtful_cycles = analysis_.sums[i].has_doubtful_total;
      if (analysis_.cpu) {
        const FunctionSum& other = analysis_.cpu->sums[i];
        has_doubtful_calls |= other.has_doubtful_calls;
        has_doubtful_cycles |= other.has_doubtful_total;
        field(",\"cpu_calls\":", other.calls);
        field(",\"self_cpu_cycles\":", other.self);
        field(",\"total_cpu_cycles\":", other.total);
        field(",\"self_cpu_probe_cycles\":", other.self_probe);
        field(",\"total_cpu_probe_cycles\":", other.total_probe);
        waiting(",\"self_waiting_cycles\":", analysis_.sums[i].self, other.self);
        waiting(",\"total_waiting_cycles\":", analysis_.sums[i].total, other.total);
      }
      doubts(has_doubtful_calls, has_doubtful_cycles);
      out_.byte('}');
    }
  }

  void write_histogram() {
    bool is_first = true;
    for (const AddressSamples& at : analysis_.histogram) {
      if (!modules_.selected()[at.object]) continue;
      out_.text(is_first ? "\n" : ",\n");
      is_first = false;
      out_.text("{\"module\":" + json_text(analysis_.functions.objects()[at.object].name()));
      out_.text(",\"address\":\"" + prof_text::hexadecimal(at.address) + "\"");
      field(",\"samples\":", at.samples);
      out_.byte('}');
    }
  }

  void write_place(const std::string& file, unsigned line) {
    if (file.empty()) return;
    out_.text(",\"file\":" + json_text(file));
    if (line) field(",\"line\":", line);
  }

  void write_source(const FunctionSource& source) {
    write_place(source.file, source.line);
    if (source.bytes == 0) return;
    field(",\"code_bytes\":", source.bytes);
    out_.text(",\"inlined\":[");
    for (size_t i = 0; i < source.inlined.size(); ++i) {
      const InlinedFunction& f = source.inlined[i];
      out_.text((i ? ",{\"name\":" : "{\"name\":") + json_text(f.name));
      write_place(f.file, f.line);
      field(",\"places\":", f.places);
      field(",\"code_bytes\":", f.bytes);
      out_.byte('}');
    }
    out_.byte(']');
  }

  // What the table has beside times and calls.
  void write_share(const FunctionSum& sum) {
    const Share share = shares_.of(sum);
    out_.text(",\"share\":" + json_number(share.likely));
    out_.text(",\"share_low\":" + json_number(share.range.low));
    out_.text(",\"share_high\":" + json_number(share.range.high));
    if (analysis_.timed && sum.calls != 0)
      out_.text(",\"cycles_per_call\":" + json_number(double(sum.total) / double(sum.calls)));
  }

  // The root stands for the world outside; it is left out, and its children's parent is -1.
  void write_tree() {
    const std::vector<CallNode>& nodes = analysis_.tree.nodes;
    for (size_t i = 1; i < nodes.size(); ++i) {
      if (node_numbers_[i] == kLeftOut) continue;
      const CallNode& node = nodes[i];
      out_.text(node_numbers_[i] ? ",\n" : "\n");
      field("{\"function\":", function_numbers_[node.function]);
      if (node.parent == 0) {
        out_.text(",\"parent\":-1");
      } else {
        field(",\"parent\":", node_numbers_[node.parent]);
      }
      if (node.has_tail_calls && analysis_.contexts.callers.empty()) out_.text(",\"tail\":true");
      field(",\"calls\":", node.calls);
      field(",\"cycles\":", node.total);
      field(",\"self_cycles\":", node.self);
      errors(node.self_variance, node.total_variance);
      if (!analysis_.sampled) ranges(node, "self_low", "self_high", "low", "high");
      if (analysis_.has_waiting) {
        field(",\"waiting_cycles\":", node.total_waiting);
        field(",\"self_waiting_cycles\":", node.self_waiting);
        field(",\"preempted_cycles\":", node.total_preempted);
        field(",\"self_preempted_cycles\":", node.self_preempted);
      }
      bool has_doubtful_calls = node.has_doubtful_calls, has_doubtful_cycles = node.has_doubtful_total;
      if (analysis_.cpu) {
        const CallNode& other = analysis_.cpu->tree.nodes[i];
        has_doubtful_calls |= other.has_doubtful_calls;
        has_doubtful_cycles |= other.has_doubtful_total;
        field(",\"cpu_calls\":", other.calls);
        field(",\"cpu_cycles\":", other.total);
        field(",\"self_cpu_cycles\":", other.self);
        waiting(",\"waiting_cycles\":", node.total, other.total);
        waiting(",\"self_waiting_cycles\":", node.self, other.self);
      }
      doubts(has_doubtful_calls, has_doubtful_cycles);
      out_.byte('}');
    }
  }

  // Of selected modules.
  void write_blocks() {
    const char* separator = "\n";
    for (const BlockCount& b : analysis_.blocks) {
      if (!modules_.selected()[b.object]) continue;
      out_.text(std::exchange(separator, ",\n"));
      out_.text("{\"module\":" + json_text(analysis_.functions.objects()[b.object].name()));
      out_.text(",\"address\":\"" + prof_text::hexadecimal(b.address) + "\"");
      field(",\"size\":", b.size);
      field(",\"count\":", b.count);
      out_.byte('}');
    }
  }

  void field(const char* name, uint64_t value) {
    out_.text(name);
    out_.number(value);
  }
  // Standard errors of estimated times.
  void errors(double self_variance, double total_variance) {
    if (!analysis_.estimated) return;
    field(",\"self_error_cycles\":", rounded(std::sqrt(self_variance)));
    field(",\"total_error_cycles\":", rounded(std::sqrt(total_variance)));
  }
  // What the times of a function or a node may be.
  template <class Times>
  void ranges(const Times& times, const char* self_low, const char* self_high, const char* low, const char* high) {
    if (!analysis_.timed) return;
    const Range self = with_chance(times.self_range, times.self_variance);
    const Range total = with_chance(times.total_range, times.total_variance);
    auto cycles = [&](const char* name, double n) {
      out_.text(std::string(",\"") + name + "\":");
      out_.number(rounded(n));
    };
    cycles(self_low, self.low);
    cycles(self_high, self.high);
    cycles(low, total.low);
    cycles(high, total.high);
  }
  void doubts(bool of_calls, bool of_cycles) {
    if (of_calls) out_.text(",\"doubtful_calls\":true");
    if (of_cycles) out_.text(",\"doubtful_cycles\":true");
  }
  void waiting(const char* name, uint64_t elapsed, uint64_t on_processor) {
    out_.text(name + std::to_string(analysis_.cpu->waiting(elapsed, on_processor)));
  }

  const Analysis& analysis_;
  const Modules modules_;
  Shares shares_;
  std::vector<uint32_t> functions_;                        // indices of those that are written, in their order
  std::vector<uint32_t> function_numbers_, node_numbers_;  // by index; kLeftOut of those that are not selected
  Output& out_;
};

}  // namespace

void print_json(const Analysis& analysis, std::optional<SortKey> order, Output& out, const Pruning& pruning) {
  Writer(analysis, order, pruning, out).write();
}

}  // namespace prof
