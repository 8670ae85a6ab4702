#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "prof/model/modules.h"
#include "views.h"

namespace prof {

namespace {

// Names are whatever bytes a symbol table holds; JSON is UTF-8. Whatever is not ASCII is escaped, controls with it.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string hex(uint64_t n) {
  char digits[20];
  return "0x" + std::string(digits, std::to_chars(digits, digits + sizeof digits, n, 16).ptr);
}

uint64_t rounded(double n) { return uint64_t(std::llround(std::min(n, 0x1p62))); }

// A number as short as it can be without being another.
std::string shortest(double n) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, n).ptr};
}

// Written as a stream: a document of a million nodes built in memory first would take gigabytes.
class Writer {
 public:
  Writer(const Analysis& analysis, Output& out) : analysis_(analysis), modules_(analysis), out_(out) {
    const std::vector<CallNode>& nodes = analysis.tree.nodes;
    const std::vector<bool> selected = selected_nodes(analysis, modules_);
    std::vector<bool> has_function;
    for (const Function& f : analysis.functions.functions()) has_function.push_back(modules_.selected()[f.object]);
    for (size_t i = 1; i < nodes.size(); ++i)
      if (selected[i]) has_function[nodes[i].function] = true;
    number(has_function, 0, function_numbers_);
    number(selected, 1, node_numbers_);
  }

  void write() {
    out_.byte('{');
    write_head();
    out_.text(",\n\"modules\":[");
    write_modules();
    out_.text("],\n\"functions\":[");
    write_functions();
    out_.text("],\n\"tree\":[");
    write_tree();
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

  void write_head() {
    out_.text("\"program\":" + quoted(analysis_.program));
    out_.text(std::string(",\"type\":\"") +
              (analysis_.sampled        ? "true"
               : analysis_.cpu          ? "waiting"
               : analysis_.by_samples   ? "sample"
               : analysis_.estimated    ? "adaptive"
               : analysis_.has_waiting  ? "time"
               : analysis_.on_processor ? "cpu"
               : analysis_.timed        ? "elapsed"
                                        : "count") +
              "\"");
    field(",\"tsc_hz\":", rounded(analysis_.tsc_hz));
    out_.text(std::string(",\"complete\":") + (analysis_.complete ? "true" : "false"));
    field(",\"lost\":", analysis_.lost);
    field(",\"folded\":", analysis_.folded);
    out_.text(std::string(",\"limited\":") + (analysis_.limited ? "true" : "false"));
    field(",\"recorded_cycles\":", uint64_t(std::min(analysis_.duration, 1e18)));
    if (analysis_.run_times.processor) out_.text(",\"processor_seconds\":" + shortest(*analysis_.run_times.processor));
    if (analysis_.run_times.preempted) field(",\"preempted_times\":", *analysis_.run_times.preempted);
    if (analysis_.process) field(",\"process\":", analysis_.process);
    if (analysis_.process) field(",\"parent_process\":", analysis_.parent_process);
    if (analysis_.process) out_.text(",\"command\":" + quoted(analysis_.command));
    if (analysis_.thread) field(",\"thread\":", analysis_.thread);
    if (analysis_.thread) out_.text(",\"thread_name\":" + quoted(analysis_.thread_name));
    if (analysis_.sampled) {
      write_samples(*analysis_.sampled);
    } else if (analysis_.by_samples) {
      field(",\n\"sample_period_ns\":", analysis_.sample_period);
      field(",\"hook_samples\":", analysis_.hook_samples);
      field(",\"sample_signals\":", analysis_.sample_signals);
    }
  }

  // What is known of samples, of all functions together.
  void write_samples(const SampledTimes& sampled) {
    field(",\n\"sample_period_ns\":", sampled.period);
    field(",\"user_samples\":", sampled.user);
    out_.text(",\"kernel_samples\":" + (sampled.has_kernel ? std::to_string(sampled.kernel) : "null"));
    field(",\"lost_samples\":", sampled.lost);
    out_.text(",\"user_seconds\":" + shortest(double(sampled.user_time) / 1e9));
  }

  void write_samples_of(size_t function, const SampledTimes& sampled) {
    const uint64_t samples = sampled.samples[function];
    const SampleRange range = range_of(samples, sampled.weight);
    const double hz = analysis_.tsc_hz > 0 ? analysis_.tsc_hz : 1e9;
    field(",\"samples\":", samples);
    out_.text(",\"self_seconds\":" + shortest(sampled.seconds(double(samples))));
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
      out_.text("{\"name\":" + quoted(object.name()) + ",\"path\":" + quoted(object.path()));
      out_.text(",\"build_id\":\"" + (id.empty() ? "" : hexadecimal(id)) + "\"");
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
    for (size_t i = 0; i < functions.size(); ++i) {
      if (function_numbers_[i] == kLeftOut) continue;
      const Function& f = functions[i];
      out_.text(function_numbers_[i] ? ",\n" : "\n");
      out_.text("{\"name\":" + quoted(f.name) +
                ",\"module\":" + quoted(analysis_.functions.objects()[f.object].name()));
      out_.text(",\"address\":\"" + hex(f.address) + "\"");
      if (f.is_import) out_.text(",\"imported\":true");
      field(",\"calls\":", analysis_.sums[i].calls);
      field(",\"self_cycles\":", analysis_.sums[i].self);
      field(",\"total_cycles\":", analysis_.sums[i].total);
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
  std::vector<uint32_t> function_numbers_, node_numbers_;  // by index; kLeftOut of those that are not selected
  Output& out_;
};

}  // namespace

void print_json(const Analysis& analysis, Output& out) { Writer(analysis, out).write(); }

}  // namespace prof
