#include "trace_listing.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "libprof/printable.h"
#include "prof/read/instructions.h"

namespace prof {

using namespace prof_format;

namespace {

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Of an element of a repeated access.
uint64_t address_of(const RunAccess& access, const AccessValue& value, uint64_t element) {
  const uint64_t distance = element * access.size;
  return access.flags & kAccessDown ? value.address - distance : value.address + distance;
}

std::string text_of(const TraceEvent& event) {
  const auto value = [&](size_t i) { return i < event.values.size() ? event.values[i] : 0; };
  switch (event.kind) {
    case kEventThreadBegin:
      return "thread begins";
    case kEventThreadEnd:
      return "thread ends";
    case kEventFork:
      return formatted("fork: process %" PRIu64, value(0));
    case kEventExec:
      return "exec";
    case kEventSignal:
      return formatted("signal %" PRIu64, value(0));
    case kEventLost:
      return value(0) ? formatted("%" PRIu64 " instructions are missing", value(0)) : "instructions are missing";
    case kEventSystemCall:
      break;
    default:
      return formatted("event %" PRIu32, event.kind);
  }
  std::string text = formatted("system call %" PRIu64 " = %" PRId64, value(0), int64_t(value(1)));
  for (size_t i = 2; i + 2 < event.values.size(); i += 3)
    text += formatted("%c%" PRIu64 " 0x%" PRIx64, event.values[i + 2] & kAccessWrite ? 'W' : 'R', event.values[i + 1],
                      event.values[i])
                .insert(0, i == 2 ? "\t" : ", ");
  return text;
}

}  // namespace

TraceListing::TraceListing(const TraceFilter& filter, ListingForm form, TraceNames& names, Output& out)
    : filter_(filter), form_(form), names_(names), out_(out) {
  if (form_ != ListingForm::drcachesim) return;
  out_.text("Output format:\n<--record#-> <--instr#->: <---tid---> <record details>\n" + std::string(60, '-') + "\n");
}

bool TraceListing::is_selected(TracedThread thread) const {
  return filter_.threads.empty() || std::ranges::find(filter_.threads, thread.thread) != filter_.threads.end();
}

bool TraceListing::is_selected(uint64_t address, const CodePlace& place) {
  const auto has_address = [&](const auto& range) { return address >= range.first && address < range.second; };
  if (!filter_.ranges.empty() && std::none_of(filter_.ranges.begin(), filter_.ranges.end(), has_address)) return false;
  if (filter_.functions.is_empty()) return true;
  while (functions_.size() <= place.function) {
    const prof_names::Name name = names_.name_for_patterns(names_.functions()[functions_.size()]);
    functions_.push_back(filter_.functions.selects({&name, 1}));
  }
  return functions_[place.function];
}

std::string TraceListing::place_text(const CodePlace& place, uint64_t address) const {
  const TracedFunction& f = names_.functions()[place.function];
  std::string text = f.name;
  if (place.address && f.entry && *place.address != f.entry) text += formatted("+0x%" PRIx64, *place.address - f.entry);
  if (!f.entry && f.name == "[unknown]") text = formatted("0x%" PRIx64, address);
  return prof_text::printable(text);
}

void TraceListing::new_run(const TraceRun& run, const TraceMemory& memory) {
  ListedRun& listed = runs_.emplace_back();
  uint64_t address = run.start;
  for (const uint8_t length : run.lengths) {
    const CodePlace place = names_.place(memory, run.process, address);
    ListedInstruction& in = listed.instructions.emplace_back();
    in.is_selected = is_selected(address, place);
    in.address = address;
    listed.is_selected |= in.is_selected;
    if (in.is_selected) {
      in.bytes = memory.code(run.process, address, length);
      in.bytes.resize(length);
      in.text = text_of(decode_instructions(in.bytes, address)[0], in.bytes);
      in.place = place_text(place, address);
    }
    address += length;
  }
}

std::string TraceListing::line(TracedThread thread, const ListedInstruction& in) const {
  if (form_ == ListingForm::lackey) return formatted("I  %08" PRIx64 ",%zu\n", in.address, in.bytes.size());
  return formatted("%" PRIu32 "\t0x%" PRIx64 "\t", thread.thread, in.address) + in.place + "\t" + in.text;
}

void TraceListing::add_access(std::string& to, const RunAccess& access, const AccessValue& value) const {
  to += formatted("%c%" PRIu32 " 0x%" PRIx64, access.flags & kAccessWrite ? 'W' : 'R', access.size, value.address);
  if (access.flags & kAccessRepeated)
    to += formatted(" %s%" PRIu64 " times", access.flags & kAccessDown ? "down " : "", value.count);
}

// A load and a store of the same memory are one line, M.
void TraceListing::add_lackey_access(std::string& to, std::span<const RunAccess> accesses,
                                     std::span<const AccessValue> values, size_t& i) const {
  const RunAccess& access = accesses[i];
  const auto is_same = [&](size_t j) {
    return j < accesses.size() && values[j].count != 0 && accesses[j].instruction == access.instruction &&
           accesses[j].size == access.size && values[j].address == values[i].address &&
           (accesses[j].flags & kAccessWrite) && !(accesses[j].flags & kAccessRepeated);
  };
  if (!(access.flags & (kAccessWrite | kAccessRepeated)) && is_same(i + 1)) {
    to += formatted(" M %08" PRIx64 ",%" PRIu32 "\n", values[i].address, access.size);
    ++i;
    return;
  }
  for (uint64_t element = 0; element < values[i].count; ++element) {
    to += formatted(" %c %08" PRIx64 ",%" PRIu32 "\n", access.flags & kAccessWrite ? 'S' : 'L',
                    address_of(access, values[i], element), access.size);
    if (to.size() < size_t(1) << 20 || filter_.last != UINT64_MAX) continue;
    out_.text(to);
    to.clear();
  }
}

std::string TraceListing::drcachesim_start(TracedThread thread) {
  return formatted("%12" PRIu64 "%12" PRIu64 ": %11" PRIu32 " ", ++records_, shown_, thread.thread);
}

void TraceListing::add_drcachesim_access(std::string& to, TracedThread thread, const ListedInstruction& in,
                                         const RunAccess& access, const AccessValue& value) {
  for (uint64_t element = 0; element < value.count; ++element) {
    to += drcachesim_start(thread) + formatted("%-8s %5" PRIu32 " byte(s) @ 0x%016" PRIx64 " by PC 0x%016" PRIx64 "\n",
                                               access.flags & kAccessWrite ? "write" : "read", access.size,
                                               address_of(access, value, element), in.address);
    if (to.size() < size_t(1) << 20 || filter_.last != UINT64_MAX) continue;
    out_.text(to);
    to.clear();
  }
}

void TraceListing::run(TracedThread thread, const TraceRun& run, std::span<const AccessValue> accesses) {
  const ListedRun& listed = runs_[run.number];
  if (!listed.is_selected || !is_selected(thread)) return;
  size_t a = 0;
  for (size_t i = 0; i < listed.instructions.size() && !is_done(); ++i) {
    const ListedInstruction& in = listed.instructions[i];
    const size_t first = a;
    while (a < accesses.size() && run.accesses[a].instruction == i) ++a;
    if (!in.is_selected) continue;
    ++shown_;
    std::string text;
    if (form_ == ListingForm::drcachesim) {
      text = drcachesim_start(thread) +
             formatted("ifetch   %5zu byte(s) @ 0x%016" PRIx64 " ", in.bytes.size(), in.address);
      for (const char byte : in.bytes) text += formatted("%02x ", unsigned(uint8_t(byte)));
      text += in.text + "\n";
      for (size_t j = first; j < a; ++j) add_drcachesim_access(text, thread, in, run.accesses[j], accesses[j]);
    } else {
      text = line(thread, in);
      bool is_first = true;
      for (size_t j = first; j < a; ++j) {
        if (form_ == ListingForm::lackey) {
          add_lackey_access(text, std::span(run.accesses).first(a), accesses, j);
        } else if (accesses[j].count != 0) {
          text += is_first ? "\t" : ", ";
          is_first = false;
          add_access(text, run.accesses[j], accesses[j]);
        }
      }
      if (form_ == ListingForm::text) text += "\n";
    }
    add(std::move(text));
  }
}

void TraceListing::add(std::string text) {
  if (filter_.last == UINT64_MAX) {
    out_.text(text);
    return;
  }
  last_.push_back(std::move(text));
  if (last_.size() > filter_.last) last_.pop_front();
}

void TraceListing::event(TracedThread thread, const TraceEvent& event) {
  // Events have no address and are no instructions.
  const bool is_all = filter_.ranges.empty() && filter_.functions.is_empty() && filter_.last == UINT64_MAX;
  if (form_ != ListingForm::text || !is_all || !is_selected(thread)) return;
  out_.text(formatted("%" PRIu32 "\t# ", thread.thread) + text_of(event) + "\n");
}

void TraceListing::finish() {
  for (const std::string& text : last_) out_.text(text);
  last_.clear();
}

}  // namespace prof
