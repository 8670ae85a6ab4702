#include "static_calls.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include "linker-rewrite/text/numbers.h"
#include "prof/read/instructions.h"

namespace prof::gprof {

namespace {

// Code as it lies in the file.
struct Code {
  uint64_t address = 0;
  const uint8_t* bytes = nullptr;
  uint64_t size = 0;
};

// The sections that may be run, or that of a name. The bytes live as long as the file.
std::vector<Code> code_of(const ElfFile& program, const std::string& name = "") {
  std::vector<Code> code;
  size_t names = 0;
  if (elf_getshdrstrndx(program.elf(), &names) != 0 && !name.empty()) return code;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(program.elf(), section)) != nullptr;) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_EXECINSTR))
      continue;
    const char* own_name = name.empty() ? nullptr : elf_strptr(program.elf(), names, header.sh_name);
    if (!name.empty() && (!own_name || own_name != name)) continue;
    const Elf_Data* data = elf_rawdata(section, nullptr);
    if (data && data->d_buf) code.push_back({header.sh_addr, static_cast<const uint8_t*>(data->d_buf), data->d_size});
  }
  return code;
}

// The arcs of calls that were found.
class Arcs {
 public:
  Arcs(CallGraph& graph, const Trace& trace) : graph_(graph), trace_(trace) {}

  // Nothing if the target is not where a function begins.
  void add(uint32_t caller, uint64_t site, uint64_t target, const Selection& selection) {
    const uint32_t callee = function_at(graph_.functions, graph_.function_count, target);
    if (callee == kNone || graph_.functions[callee].address != target) return;
    if (selection.keeps_arc && !selection.keeps_arc(caller, callee)) return;
    if (trace_.has(Trace::static_calls)) {
      trace_.print("call at " + prof_text::hexadecimal(site) + ": " + graph_.functions[caller].name + " to " +
                   graph_.functions[callee].name);
    }
    add_arc(graph_, caller, callee, 0);
  }

 private:
  CallGraph& graph_;
  const Trace& trace_;
};

// The direct calls of a function in a section, of whatever is decoded there.
void find_all(uint32_t caller, const Code& code, const Selection& selection, const CallGraph& graph, Arcs& arcs) {
  const Function& function = graph.functions[caller];
  const uint64_t start = std::max(function.address, code.address);
  const uint64_t end = std::min(function.end + 1, code.address + code.size);
  if (start >= end) return;
  const std::string_view bytes(reinterpret_cast<const char*>(code.bytes) + (start - code.address), end - start);
  for (const Instruction& instruction : decode_instructions(bytes, start))
    if (instruction.transfer == Transfer::call) arcs.add(caller, instruction.address, *instruction.target, selection);
}

constexpr uint8_t kCallOpcode = 0xe8;
constexpr uint64_t kCallSize = 5;

// The calls that gprof sees in a part of the code.
void find_as_gprof(uint32_t caller, uint64_t low, uint64_t high, const Code& text, Arcs& arcs) {
  low = std::max(low, text.address);
  high = std::min(high, text.address + text.size);
  for (uint64_t at = low; at < high && at + kCallSize <= text.address + text.size; ++at) {
    const uint8_t* bytes = text.bytes + (at - text.address);
    if (bytes[0] != kCallOpcode) continue;
    uint32_t distance;
    std::memcpy(&distance, bytes + 1, sizeof distance);
    arcs.add(caller, at, at + kCallSize + distance, {});
  }
}

}  // namespace

void add_static_calls_of_gprof(CallGraph& graph, const ElfFile& program, const std::vector<GmonHistogram>& histograms,
                               const Trace& trace) {
  const std::vector<Code> text = code_of(program, ".text");
  if (text.empty()) return;
  std::map<uint64_t, uint64_t> ranges;  // ends by starts; none overlap
  for (const GmonHistogram& histogram : histograms) ranges.emplace(histogram.low, histogram.high);
  Arcs arcs(graph, trace);
  for (uint32_t f = 0; f + 1 < graph.function_count; ++f) {
    const uint64_t start = graph.functions[f].address, end = graph.functions[f + 1].address;
    auto range = ranges.upper_bound(start);
    if (range != ranges.begin()) --range;
    for (; range != ranges.end() && range->first < end; ++range)
      find_as_gprof(f, std::max(start, range->first), std::min(end, range->second), text[0], arcs);
  }
}

void add_static_calls(CallGraph& graph, const ElfFile& program, const Selection& selection, const Trace& trace) {
  const std::vector<Code> code = code_of(program);
  Arcs arcs(graph, trace);
  for (uint32_t f = 0; f < graph.function_count; ++f)
    for (const Code& section : code) find_all(f, section, selection, graph, arcs);
}

}  // namespace prof::gprof
