// JSON for speedscope.app: github.com/jlfwong/speedscope, src/lib/file-format-spec.ts.
//
// A profile there is either a list of samples, each with its whole stack, or a list of events, where a function is
// entered and left. Events are shorter, and lose nothing: each context is one stretch of time, with those below it inside,
// one after the other. That is no record of what happened when; "left heavy" and "sandwich" are the views to look at.
// Contexts that took no time are left out.
//
// A function's name stands once in the file, at its end, since not all are known before. Each measure of each part is a
// profile of its own.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "contexts.h"
#include "exports.h"

namespace prof {

namespace {

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

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
  explicit Speedscope(Output& out) : out_(out) {
    out_.text(
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"prof\",\"profiles\":[");
  }

  void add(const Analysis& part) override {
    name_ = part.program;
    std::vector<Measure> measures = measures_of(part);
    if (part.timed) measures.pop_back();  // calls
    const std::vector<Context> contexts = contexts_of(part, measures);
    for (const Context& context : contexts) note_frame(part, context.function);
    for (size_t m = 0; m < measures.size(); ++m) {
      const std::string whose = part_name(part);
      write_profile((whose.empty() ? "" : whose + ": ") + name_of(measures[m], part),
                    measures[m] == Measure::calls ? "none" : "nanoseconds", contexts, m);
    }
  }

  void finish() override {
    out_.text("],\n\"name\":" + json_string(name_) + ",\n\"shared\":{\"frames\":[");
    for (size_t i = 0; i < frames_.size(); ++i) out_.text((i ? ",\n" : "\n") + frames_[i]);
    out_.text("]}}\n");
  }

 private:
  static constexpr uint32_t kNoFrame = UINT32_MAX;

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
      frames_.push_back("{\"name\":" + json_string(kNameBetween) + "}");
      return;
    }
    const Function& f = part.functions.functions()[function];
    frames_.push_back("{\"name\":" + json_string(part.functions.name_with_module(f)) +
                      ",\"file\":" + json_string(part.functions.objects()[f.object].name()) + "}");
  }

  void write_profile(const std::string& name, const char* unit, const std::vector<Context>& contexts, size_t measure) {
    const std::vector<uint64_t> totals = totals_of(contexts, measure);
    out_.text(std::string(is_first_ ? "\n" : ",\n") + "{\"type\":\"evented\",\"name\":" + json_string(name) +
              ",\"unit\":\"" + unit + "\",\"startValue\":0,\"events\":[");
    is_first_ = false;
    bool is_first_event = true;
    uint64_t now = 0;
    auto event = [&](char type, uint32_t function) {
      out_.text(is_first_event ? "\n{\"type\":\"" : ",\n{\"type\":\"");
      is_first_event = false;
      out_.byte(type);
      out_.text("\",\"frame\":");
      out_.number(frame_at(function));
      out_.text(",\"at\":");
      out_.number(now);
      out_.byte('}');
    };
    std::vector<uint32_t> open;  // functions
    auto close_to = [&](size_t level) {
      for (; open.size() > level; open.pop_back()) event('C', open.back());
    };
    for (size_t i = 0; i < contexts.size(); ++i) {
      if (totals[i] == 0) continue;
      close_to(contexts[i].level);
      event('O', contexts[i].function);
      open.push_back(contexts[i].function);
      add_up(now, contexts[i].self[measure]);
    }
    close_to(0);
    out_.text("],\"endValue\":");
    out_.number(now);
    out_.byte('}');
  }

  Output& out_;
  std::string name_;
  std::vector<uint32_t> numbers_;  // by function, of its frame
  uint32_t between_ = kNoFrame;
  std::vector<std::string> frames_;
  bool is_first_ = true;
};

}  // namespace

std::unique_ptr<Export> speedscope_export(Output& out) { return std::make_unique<Speedscope>(out); }

}  // namespace prof
