// The instructions of a trace, one after the other, as text: with what they touched and where they are, or as two tools
// print them that other programs read.

#ifndef PROF_INSTRUCTIONS_TRACE_TRACE_LISTING_H
#define PROF_INSTRUCTIONS_TRACE_TRACE_LISTING_H

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "linker-rewrite/names/pattern.h"
#include "prof/views/text/output.h"
#include "trace_names.h"
#include "trace_reader.h"

namespace prof {

// Which instructions are shown: those that all of these let through.
struct TraceFilter {
  std::vector<std::pair<uint64_t, uint64_t>>
      ranges;  // of addresses in memory, from the first up to the second; empty: all
  prof_names::Filter functions;
  std::vector<uint32_t> threads;  // empty: all
  uint64_t first = UINT64_MAX;    // so many
  uint64_t last = UINT64_MAX;     // and of these, so many
};

enum class ListingForm {
  text,        // thread, address, function, instruction, accesses: with tabs between them
  lackey,      // as valgrind --tool=lackey --trace-mem=yes
  drcachesim,  // as the view tool of DynamoRIO's drcachesim
};

class TraceListing : public TraceConsumer {
 public:
  // All must outlive this.
  TraceListing(const TraceFilter& filter, ListingForm form, TraceNames& names, Output& out);

  void new_run(const TraceRun& run, const TraceMemory& memory) override;
  void run(TracedThread thread, const TraceRun& run, std::span<const AccessValue> accesses) override;
  void event(TracedThread thread, const TraceEvent& event) override;
  bool is_done() const override { return shown_ >= filter_.first; }

  // Once, after all.
  void finish();

 private:
  struct ListedInstruction {
    bool is_selected = false;
    uint64_t address = 0;
    std::string bytes;
    std::string place, text;  // for people
  };
  struct ListedRun {
    bool is_selected = false;  // some instruction of it is
    std::vector<ListedInstruction> instructions;
  };

  bool is_selected(TracedThread thread) const;
  bool is_selected(uint64_t address, const CodePlace& place);
  std::string place_text(const CodePlace& place, uint64_t address) const;
  void add(std::string text);
  std::string line(TracedThread thread, const ListedInstruction& in) const;
  void add_access(std::string& to, const RunAccess& access, const AccessValue& value) const;
  void add_lackey_access(std::string& to, std::span<const RunAccess> accesses, std::span<const AccessValue> values,
                         size_t& i) const;
  void add_drcachesim_access(std::string& to, TracedThread thread, const ListedInstruction& in, const RunAccess& access,
                             const AccessValue& value);
  std::string drcachesim_start(TracedThread thread);

  const TraceFilter& filter_;
  ListingForm form_;
  TraceNames& names_;
  Output& out_;
  std::vector<ListedRun> runs_;   // by number
  std::vector<bool> functions_;   // by function: whether the filter selects it; those that were asked for
  uint64_t shown_ = 0;            // instructions
  uint64_t records_ = 0;          // of drcachesim: instructions and accesses
  std::deque<std::string> last_;  // waiting to be among the last ones
};

}  // namespace prof

#endif
