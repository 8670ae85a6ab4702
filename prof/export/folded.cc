// Folded stacks: a line for each context, its callers first, with what it took itself.
//
//     main;nseq;step 3000046112
//
// Readers split a line at ";" and take the number after the last blank. flamegraph.pl takes a second number before it,
// too, if there is one, and others take a line that begins with # for a comment. A name must not look like either.
//
// A name stands in the line of each context below it, and C++ has names of thousands of bytes. Long ones are cut, and
// told from others by their address.

#include <string>
#include <vector>

#include "contexts.h"
#include "exports.h"
#include "libprof/printable.h"
#include "linker-rewrite/text/numbers.h"

namespace prof {

namespace {

constexpr size_t kLongestName = 250;  // bytes

// Text without ";", and without a number after a blank at its end, in the escapes of printable.h.
std::string escaped_frame(const std::string& text) {
  std::string frame;
  const size_t digits = text.find_last_not_of("0123456789.");
  const bool ends_in_number = digits != std::string::npos && digits + 1 < text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_before_number = ends_in_number && i == digits && text[i] == ' ';
    frame += text[i] == ';' ? "\\x3b" : is_before_number ? "\\x20" : std::string(1, text[i]);
  }
  return frame;
}

// A name that no reader takes for something else.
std::string frame_of(const Analysis& analysis, uint32_t function) {
  std::string name = printed_name(analysis, function);
  if (function == Context::kBetween) return name;
  const Function& f = analysis.functions.functions()[function];
  if (name.size() > kLongestName) {
    name = prof_text::shortened(name, kLongestName) + "...[" + prof_text::hexadecimal(f.address) + "]";
  }
  if (name.starts_with('#')) {  // no symbol: "#1139"
    name = prof_text::printable(analysis.functions.objects()[f.object].name()) + name;
  }
  return escaped_frame(name);
}

class Folded : public Export {
 public:
  explicit Folded(Output& out) : out_(out) {}

  void add(const Analysis& part) override {
    const std::string outermost = part_name(part).empty() ? "" : escaped_frame(part_name(part)) + ";";
    const std::vector<Context> contexts = contexts_of(part, {measures_of(part)[0]});
    names_.resize(part.functions.functions().size());
    std::string stack = outermost;
    std::vector<size_t> ends;  // of the callers in the stack, by level
    for (const Context& context : contexts) {
      ends.resize(context.level);
      stack.resize(ends.empty() ? outermost.size() : ends.back());
      if (!ends.empty()) stack += ';';
      stack += name_of(part, context.function);
      ends.push_back(stack.size());
      if (context.self[0] == 0) continue;
      out_.text(stack);
      out_.byte(' ');
      out_.number(context.self[0]);
      out_.byte('\n');
    }
  }

 private:
  const std::string& name_of(const Analysis& part, uint32_t function) {
    std::string& name = function == Context::kBetween ? between_ : names_[function];
    if (name.empty()) name = frame_of(part, function);
    return name;
  }

  Output& out_;
  std::vector<std::string> names_;  // by function; empty if it was not needed yet
  std::string between_;
};

}  // namespace

std::unique_ptr<Export> folded_export(Output& out) { return std::make_unique<Folded>(out); }

}  // namespace prof
