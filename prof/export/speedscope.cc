// JSON for speedscope.app: github.com/jlfwong/speedscope, src/lib/file-format-spec.ts.
//
// A profile there is either a list of samples, each with its whole stack, or a list of events, where a function is
// entered and left. Events are shorter, and lose nothing: each context is one stretch of time, with those below it
// inside, one after the other. That is no record of what happened when; "left heavy" and "sandwich" are the views to
// look at. Contexts that took no time are left out.
//
// A function's name stands once in the file, at its end, since not all are known before. Each measure of each part is a
// profile of its own.

#include <optional>
#include <string>
#include <vector>

#include "contexts.h"
#include "exports.h"
#include "prof/views/text/json_writer.h"

namespace prof {

namespace {

// By context, what it and those below it took; contexts stand in the order of a walk.
std::vector<uint64_t> totals_of(const std::vector<Context>& contexts, size_t measure) {
  std::vector<uint64_t> totals(contexts.size());
  std::vector<uint64_t> below;  // by level, what is to be added to the next caller at the level above
  for (size_t i = contexts.size(); i-- > 0;) {
    const uint32_t level = contexts[i].level;
    if (below.size() < level + 2) below.resize(level + 2);
    totals[i] = contexts[i].self[measure];
    add_up(totals[i], below[level + 1]);
    below[level + 1] = 0;
    add_up(below[level], totals[i]);
  }
  return totals;
}

class Speedscope : public Export {
 public:
  explicit Speedscope(Output& out) : out_(out), json_(out) {
    json_.begin_object();
    json_.member("$schema", "https://www.speedscope.app/file-format-schema.json");
    json_.member("exporter", "prof");
    json_.begin_array("profiles");
  }

  void add(const Analysis& part) override {
    name_ = part.program;
    std::vector<Measure> measures = measures_of(part);
    if (part.timed()) measures.pop_back();  // calls
    const std::vector<Context> contexts = contexts_of(part, measures);
    for (const Context& context : contexts) note_frame(part, context.function);
    for (size_t m = 0; m < measures.size(); ++m) {
      const std::string whose = part_name(part);
      write_profile((whose.empty() ? "" : whose + ": ") + name_of(measures[m], part),
                    measures[m] == Measure::calls ? "none" : "nanoseconds", contexts, m);
    }
  }

  void finish() override {
    json_.end_array();
    json_.new_line();
    json_.member("name", name_);
    json_.new_line();
    json_.begin_object("shared");
    json_.begin_array("frames");
    for (const Frame& frame : frames_) {
      json_.new_line();
      json_.begin_object();
      json_.member("name", frame.name);
      if (frame.file) json_.member("file", *frame.file);
      json_.end_object();
    }
    json_.end_array();
    json_.end_object();
    json_.end_object();
    out_.byte('\n');
  }

 private:
  static constexpr uint32_t kNoFrame = UINT32_MAX;

  struct Frame {
    std::string name;
    std::optional<std::string> file;
  };

  uint32_t& frame_at(uint32_t function) {
    if (function == Context::kBetween) return between_;
    if (function >= numbers_.size()) numbers_.resize(function + 1, kNoFrame);
    return numbers_[function];
  }

  void note_frame(const Analysis& part, uint32_t function) {
    uint32_t& frame = frame_at(function);
    if (frame != kNoFrame) return;
    frame = uint32_t(frames_.size());
    if (function == Context::kBetween) {
      frames_.push_back({kNameBetween, {}});
      return;
    }
    const Function& f = part.functions.functions()[function];
    frames_.push_back({part.functions.name_with_module(f), part.functions.objects()[f.object].name()});
  }

  void write_profile(const std::string& name, const char* unit, const std::vector<Context>& contexts, size_t measure) {
    const std::vector<uint64_t> totals = totals_of(contexts, measure);
    json_.new_line();
    json_.begin_object();
    json_.member("type", "evented");
    json_.member("name", name);
    json_.member("unit", unit);
    json_.member("startValue", 0);
    json_.begin_array("events");
    uint64_t now = 0;
    auto event = [&](const char* type, uint32_t function) {
      json_.new_line();
      json_.begin_object();
      json_.member("type", type);
      json_.member("frame", frame_at(function));
      json_.member("at", now);
      json_.end_object();
    };
    std::vector<uint32_t> open;  // functions
    auto close_to = [&](size_t level) {
      for (; open.size() > level; open.pop_back()) event("C", open.back());
    };
    for (size_t i = 0; i < contexts.size(); ++i) {
      if (totals[i] == 0) continue;
      close_to(contexts[i].level);
      event("O", contexts[i].function);
      open.push_back(contexts[i].function);
      add_up(now, contexts[i].self[measure]);
    }
    close_to(0);
    json_.end_array();
    json_.member("endValue", now);
    json_.end_object();
  }

  Output& out_;
  JsonWriter json_;
  std::string name_;
  std::vector<uint32_t> numbers_;  // by function, of its frame
  uint32_t between_ = kNoFrame;
  std::vector<Frame> frames_;
};

}  // namespace

std::unique_ptr<Export> speedscope_export(Output& out) { return std::make_unique<Speedscope>(out); }

}  // namespace prof
