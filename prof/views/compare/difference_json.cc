#include "difference.h"
#include "prof/views/text/json_text.h"

namespace prof {

namespace {

// Written as a stream, as the JSON of one profile.
class Writer {
 public:
  Writer(const Difference& d, Output& out) : d_(d), out_(out) {}

  void write(const std::string& type) {
    out_.text("{\"type\":" + json_text(type));
    out_.text(std::string(",\"test\":") + (d_.is_tested() ? "\"welch\"" : "\"ranges\""));
    write_side(",\n\"a\":", d_.sides[0]);
    write_side(",\n\"b\":", d_.sides[1]);
    out_.text(",\n\"all\":{");
    write_changes(d_.all, false, true);
    out_.text("},\n\"functions\":[");
    write_functions();
    out_.text("],\n\"tree\":[");
    write_tree();
    out_.text("]}\n");
  }

 private:
  void write_side(const char* name, const ComparedSide& side) {
    out_.text(name);
    out_.text("{\"program\":" + json_text(side.program) + ",\"runs\":" + std::to_string(side.runs));
    out_.text(",\"elapsed_seconds\":" + json_number(side.elapsed));
    if (side.processor) out_.text(",\"processor_seconds\":" + json_number(*side.processor));
    out_.byte('}');
  }

  void write_change(const char* name, const Change& change) {
    out_.text(name);
    out_.text("{\"a\":" + json_number(change.first) + ",\"b\":" + json_number(change.second));
    out_.text(",\"change\":" + json_number(change.amount()));
    if (change.p) out_.text(",\"p\":" + json_number(*change.p));
    out_.text(std::string(",\"known\":") + (change.is_known ? "true" : "false") + "}");
  }

  void write_changes(const std::array<Figures, 2>& figures, bool has_total, bool has_calls) {
    write_change("\"self_seconds\":", d_.self(figures));
    if (has_total) write_change(",\"total_seconds\":", d_.total(figures));
    if (d_.has_waiting) write_change(",\"self_waiting_seconds\":", d_.self_waiting(figures));
    if (has_calls) write_change(",\"calls\":", d_.calls(figures));
    if (has_calls && has_total) write_change(",\"seconds_per_call\":", d_.per_call(figures));
  }

  void write_sides(const std::array<bool, 2>& occurs) {
    out_.text(std::string(",\"in\":\"") +
              (occurs[0] && occurs[1] ? "both"
               : occurs[1]            ? "b"
               : occurs[0]            ? "a"
                                      : "none") +
              "\",");
  }

  void write_functions() {
    for (size_t i = 0; i < d_.functions.size(); ++i) {
      const ComparedFunction& f = d_.functions[i];
      out_.text(i > 0 ? ",\n" : "\n");
      out_.text("{\"name\":" + json_text(f.name) + ",\"module\":" + json_text(f.module));
      if (!f.was.empty()) out_.text(",\"was\":" + json_text(f.was));
      write_sides(f.occurs);
      write_changes(f.sides, true, f.has_calls);
      out_.byte('}');
    }
  }

  // As of one profile: the root is left out, and its children's parent is -1.
  void write_tree() {
    for (size_t i = 1; i < d_.contexts.size(); ++i) {
      const ComparedContext& c = d_.contexts[i];
      out_.text(i > 1 ? ",\n" : "\n");
      out_.text("{\"function\":" + std::to_string(c.function));
      out_.text(",\"parent\":" + std::to_string(int64_t(c.parent) - 1));
      write_sides(c.occurs);
      write_changes(c.sides, true, d_.functions[c.function].has_calls);
      out_.byte('}');
    }
  }

  const Difference& d_;
  Output& out_;
};

}  // namespace

void print_difference_json(const Difference& difference, const std::string& type, Output& out) {
  Writer(difference, out).write(type);
}

}  // namespace prof
