#include "record_places.h"

#include <algorithm>

namespace profld {

std::vector<PlacedRecord> record_places(const Code& code, const RangePlan& plan, const RangeCopy& copy) {
  std::vector<PlacedRecord> placed;
  if (copy.out_of_line == 0) return placed;
  const uint32_t out_of_line = uint32_t(copy.size) - copy.out_of_line;
  uint32_t taken_edge = out_of_line, full_window = out_of_line + length_of_taken_edges(plan);
  std::vector<PlacedRecord> taken_edges, full_windows;

  const auto place_in = [&](std::vector<PlacedRecord>& list, uint32_t at, uint32_t size, uint32_t insn,
                            const RecordCode& record) {
    const OldAddr place = code.address(code.insns[insn]);
    list.push_back({at, size, place, record, false});
    full_windows.push_back({full_window, kFullWindowLength, place, record, true});
    full_window += kFullWindowLength;
  };
  const auto place_edge = [&](const EdgeRecord& edge) {
    const uint32_t length = length_of(edge);
    if (!edge.record) {  // an increment; beside its jump it needs nothing
      if (!edge.is_taken) return;
      taken_edges.push_back({taken_edge, length + kJumpLength, code.address(code.insns[edge.insn]), {}, false});
      taken_edge += length + kJumpLength;
    } else if (edge.is_taken) {
      place_in(taken_edges, taken_edge, length + kJumpLength, edge.insn, *edge.record);
      taken_edge += length + kJumpLength;
    } else {  // the last thing before the next instruction
      const uint64_t next = code.insns[edge.insn].offset + code.insns[edge.insn].length;
      place_in(placed, uint32_t(copy.offset(next)) - length, length, edge.insn, *edge.record);
    }
  };

  const std::vector<EdgeRecord> none;
  const std::vector<EdgeRecord>& edges = plan.edges ? *plan.edges : none;
  auto edge = edges.begin();
  if (plan.counters)
    for (const CounterPlace& counter : *plan.counters) {
      for (; edge != edges.end() && edge->insn < counter.insn; ++edge) place_edge(*edge);
      if (!counter.record) continue;
      const uint32_t hook = counter.insn == plan.enter_hook_before ? kHookLength : 0;
      const uint64_t at = copy.offset(code.insns[counter.insn].offset) + hook;
      place_in(placed, uint32_t(at), length_of_record(*counter.record), counter.insn, *counter.record);
    }
  for (; edge != edges.end(); ++edge) place_edge(*edge);

  placed.insert(placed.end(), taken_edges.begin(), taken_edges.end());
  placed.insert(placed.end(), full_windows.begin(), full_windows.end());
  return placed;
}

}  // namespace profld
