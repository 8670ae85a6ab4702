#include "executions.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "libprof/printable.h"

namespace prof::gprof {

namespace {

std::string hexadecimal(uint64_t number) {
  char digits[20];
  return {digits, std::to_chars(digits, digits + sizeof digits, number, 16).ptr};
}

bool stands_before(const Function& left, const Function& right) {
  if (left.file.empty() || right.file.empty()) return left.address < right.address;
  return std::tie(left.file, left.line, left.address) < std::tie(right.file, right.line, right.address);
}

// What has no file is compared by its address with what has, which makes no order: what comes out depends on which are
// compared. gprof sorts by merging halves (qsort of glibc), and so does this.
void sort_as_gprof(std::vector<uint32_t>::iterator begin, std::vector<uint32_t>::iterator end, const CallGraph& graph) {
  if (end - begin < 2) return;
  const auto middle = begin + (end - begin) / 2;
  sort_as_gprof(begin, middle, graph);
  sort_as_gprof(middle, end, graph);
  std::vector<uint32_t> merged;
  auto first = begin, second = middle;
  while (first != middle && second != end) {
    const bool is_second = stands_before(graph.functions[*second], graph.functions[*first]);
    merged.push_back(is_second ? *second++ : *first++);
  }
  merged.insert(merged.end(), first, middle);
  std::copy(merged.begin(), merged.end(), begin);
}

}  // namespace

Executions::Executions(const CallGraph& graph, const std::vector<GmonBlock>& blocks, const Trace& trace)
    : graph_(graph), blocks_(graph.functions.size()) {
  std::map<uint64_t, uint64_t> counts;  // several files may have the same block
  for (const GmonBlock& block : blocks) counts[block.address] += block.count;
  for (const auto& [address, count] : counts) {
    const uint32_t f = function_at(graph.functions, graph.function_count, address);
    if (f == kNone) continue;
    blocks_[f].push_back({address, count});
    const Function& function = graph.functions[f];
    if (trace.has(Trace::blocks))
      trace.print("[blocks] 0x" + hexadecimal(address) + " ran " + std::to_string(count) + " times: " + function.name +
                  ", line " + std::to_string(function.line));
  }
}

void print_executions(const Executions& executions, const Choice& choice, const ExecutionOptions& options,
                      Output& out) {
  const CallGraph& graph = executions.graph();
  std::vector<uint32_t> shown;
  for (uint32_t f = 0; f < graph.function_count; ++f)
    if (choice.holds(f)) shown.push_back(f);
  sort_as_gprof(shown.begin(), shown.end(), graph);
  for (const uint32_t f : shown) {
    const Function& function = graph.functions[f];
    const auto print = [&](uint64_t address, uint64_t count) {
      if (count == 0 && !options.unused) return;
      out.text((function.file.empty() ? "<unknown>" : prof_text::printable(function.file)) + ":" +
               std::to_string(function.line) + ": (" + prof_text::printable(function.name) + ":0x" +
               hexadecimal(address) + ") " + std::to_string(count) + " executions\n");
    };
    print(function.address, executions.calls(f));
    for (const GmonBlock& block : executions.blocks(f)) print(block.address, block.count);
  }
}

}  // namespace prof::gprof
