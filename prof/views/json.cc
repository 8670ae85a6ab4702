#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

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

}  // namespace

// Written as a stream: a document of a million nodes built in memory first would take gigabytes.
void print_json(const Analysis& analysis, Output& out) {
  auto field = [&](const char* name, uint64_t value) {
    out.text(name);
    out.number(value);
  };
  // Standard errors of estimated times.
  auto errors = [&](double self_variance, double total_variance) {
    if (!analysis.estimated) return;
    field(",\"self_error_cycles\":", rounded(std::sqrt(self_variance)));
    field(",\"total_error_cycles\":", rounded(std::sqrt(total_variance)));
  };
  auto doubts = [&](bool of_calls, bool of_cycles) {
    if (of_calls) out.text(",\"doubtful_calls\":true");
    if (of_cycles) out.text(",\"doubtful_cycles\":true");
  };
  auto waiting = [&](const char* name, uint64_t elapsed, uint64_t on_processor) {
    out.text(name + std::to_string(analysis.cpu->waiting(elapsed, on_processor)));
  };
  out.text("{\"program\":" + quoted(analysis.program));
  out.text(std::string(",\"type\":\"") +
           (analysis.cpu            ? "waiting"
            : analysis.estimated    ? "adaptive"
            : analysis.on_processor ? "cpu"
            : analysis.timed        ? "elapsed"
                                    : "count") +
           "\"");
  field(",\"tsc_hz\":", rounded(analysis.tsc_hz));
  out.text(std::string(",\"complete\":") + (analysis.complete ? "true" : "false"));
  field(",\"lost\":", analysis.lost);
  field(",\"folded\":", analysis.folded);
  out.text(std::string(",\"limited\":") + (analysis.limited ? "true" : "false"));
  field(",\"recorded_cycles\":", uint64_t(std::min(analysis.duration, 1e18)));
  if (analysis.process) field(",\"process\":", analysis.process);
  if (analysis.process) field(",\"parent_process\":", analysis.parent_process);
  if (analysis.process) out.text(",\"command\":" + quoted(analysis.command));
  if (analysis.thread) field(",\"thread\":", analysis.thread);
  if (analysis.thread) out.text(",\"thread_name\":" + quoted(analysis.thread_name));

  out.text(",\n\"functions\":[");
  const std::vector<Function>& functions = analysis.functions.functions();
  for (size_t i = 0; i < functions.size(); ++i) {
    const Function& f = functions[i];
    out.text(i ? ",\n" : "\n");
    out.text("{\"name\":" + quoted(f.name) + ",\"module\":" + quoted(analysis.functions.objects()[f.object].name()));
    out.text(",\"address\":\"" + hex(f.address) + "\"");
    field(",\"calls\":", analysis.sums[i].calls);
    field(",\"self_cycles\":", analysis.sums[i].self);
    field(",\"total_cycles\":", analysis.sums[i].total);
    field(",\"self_probe_cycles\":", analysis.sums[i].self_probe);
    field(",\"total_probe_cycles\":", analysis.sums[i].total_probe);
    errors(analysis.sums[i].self_variance, analysis.sums[i].total_variance);
    bool has_doubtful_calls = analysis.sums[i].has_doubtful_calls;
    bool has_doubtful_cycles = analysis.sums[i].has_doubtful_total;
    if (analysis.cpu) {
      const FunctionSum& other = analysis.cpu->sums[i];
      has_doubtful_calls |= other.has_doubtful_calls;
      has_doubtful_cycles |= other.has_doubtful_total;
      field(",\"cpu_calls\":", other.calls);
      field(",\"self_cpu_cycles\":", other.self);
      field(",\"total_cpu_cycles\":", other.total);
      field(",\"self_cpu_probe_cycles\":", other.self_probe);
      field(",\"total_cpu_probe_cycles\":", other.total_probe);
      waiting(",\"self_waiting_cycles\":", analysis.sums[i].self, other.self);
      waiting(",\"total_waiting_cycles\":", analysis.sums[i].total, other.total);
    }
    doubts(has_doubtful_calls, has_doubtful_cycles);
    out.byte('}');
  }

  // The root stands for the world outside; it is left out, and its children's parent is -1.
  out.text("],\n\"tree\":[");
  const std::vector<CallNode>& nodes = analysis.tree.nodes;
  for (size_t i = 1; i < nodes.size(); ++i) {
    const CallNode& node = nodes[i];
    out.text(i > 1 ? ",\n" : "\n");
    field("{\"function\":", node.function);
    if (node.parent == 0) {
      out.text(",\"parent\":-1");
    } else {
      field(",\"parent\":", node.parent - 1);
    }
    field(",\"calls\":", node.calls);
    field(",\"cycles\":", node.total);
    field(",\"self_cycles\":", node.self);
    errors(node.self_variance, node.total_variance);
    bool has_doubtful_calls = node.has_doubtful_calls, has_doubtful_cycles = node.has_doubtful_total;
    if (analysis.cpu) {
      const CallNode& other = analysis.cpu->tree.nodes[i];
      has_doubtful_calls |= other.has_doubtful_calls;
      has_doubtful_cycles |= other.has_doubtful_total;
      field(",\"cpu_calls\":", other.calls);
      field(",\"cpu_cycles\":", other.total);
      field(",\"self_cpu_cycles\":", other.self);
      waiting(",\"waiting_cycles\":", node.total, other.total);
      waiting(",\"self_waiting_cycles\":", node.self, other.self);
    }
    doubts(has_doubtful_calls, has_doubtful_cycles);
    out.byte('}');
  }
  out.text("]}\n");
}

}  // namespace prof
