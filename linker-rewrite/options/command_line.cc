#include "command_line.h"

#include <algorithm>
#include <string_view>

#include "linker-rewrite/names/pattern.h"

namespace prof_options {

namespace {

constexpr size_t kColumns = 80;
constexpr int kFirstWord = 256;  // what getopt_long returns for the first word; letters are below it

bool may_lack_argument(const Form& form) { return form.argument[0] == '['; }

// "GLOB"
std::string argument_name(const Form& form) {
  const std::string name = form.argument;
  return may_lack_argument(form) ? name.substr(1, name.size() - 2) : name;
}

// "--libs[=GLOB]", "-n N"
std::string with_argument(const std::string& name, const Form& form) {
  if (!form.argument[0]) return name;
  if (!may_lack_argument(form)) return name + " " + form.argument;
  return name + (name.starts_with("--") ? "[=" : "[") + argument_name(form) + "]";
}

std::string label_of(const Form& form, bool is_indented) {
  const std::string word = form.word[0] ? std::string("--") + form.word : "";
  if (!form.letter) return (is_indented ? "      " : "  ") + with_argument(word, form);
  const std::string letter = std::string("  -") + form.letter;
  return word.empty() ? with_argument(letter, form) : letter + ", " + with_argument(word, form);
}

// Lines of at most kColumns, all but the first with an indent.
std::string folded_line(std::string line, size_t indent) {
  std::string result;
  while (line.size() > kColumns) {
    const size_t blank = line.rfind(' ', kColumns);
    if (blank == std::string::npos || blank <= indent) break;  // one long word
    result += line.substr(0, blank) + "\n";
    line = std::string(indent, ' ') + line.substr(blank + 1);
  }
  return result + line + "\n";
}

// Whether an option that was given is the one of this name.
bool is_named(const std::pair<Form, Given>& given, std::string_view name) {
  const auto& [form, as_given] = given;
  if (name.ends_with('=')) {
    if (as_given.argument.empty()) return false;
    name.remove_suffix(1);
  }
  return name.starts_with("--") ? name.substr(2) == form.word : form.letter != 0 && name[1] == form.letter;
}

// As it stands on the command line; "" if it does not.
std::string first_of(const GivenForms& given, const std::vector<const char*>& names) {
  for (const auto& option : given)
    if (std::ranges::any_of(names, [&](const char* name) { return is_named(option, name); }))
      return option.second.option;
  return "";
}

}  // namespace

Scanner::Scanner(std::vector<Form> forms, const Command& command, int argc, char** argv)
    : forms_(std::move(forms)), command_(command), argc_(argc), argv_(argv), letters_(command.stops ? "+:" : ":") {
  for (size_t i = 0; i < forms_.size(); ++i) {
    const Form& form = forms_[i];
    const int argument = !form.argument[0]         ? no_argument
                         : may_lack_argument(form) ? optional_argument
                                                   : required_argument;
    if (form.letter) letters_ += form.letter + std::string(size_t(argument), ':');  // "n:", "n::"
    if (form.word[0]) words_.push_back({form.word, argument, nullptr, kFirstWord + int(i)});
  }
  words_.push_back({nullptr, 0, nullptr, 0});
  opterr = 0;
  optind = 0;  // glibc: start anew
}

std::string Scanner::name_of(int value) const {
  if (value < kFirstWord) return std::string("-") + char(value);
  return std::string("--") + forms_[size_t(value - kFirstWord)].word;
}

// "did you mean --json?"; "" if no option is near.
std::string Scanner::question_about(const std::string& word) const {
  prof_names::Nearest nearest(std::string_view(word).substr(2, word.find('=') - 2));
  for (const Form& form : forms_)
    if (form.word[0]) nearest.add(form.word, std::string("--") + form.word);
  return nearest.question();
}

size_t Scanner::form_of(int value) const {
  if (value >= kFirstWord) return size_t(value - kFirstWord);
  return size_t(std::ranges::find(forms_, value, [](const Form& form) { return int(form.letter); }) - forms_.begin());
}

std::optional<Scanner::Found> Scanner::next() {
  if (has_ended_) return std::nullopt;
  const int c = getopt_long(argc_, argv_, letters_.c_str(), words_.data(), nullptr);
  if (c == -1) return std::nullopt;
  const std::string see = std::string("; see ") + command_.name + " --help";
  if (c == ':') {
    const std::string name = name_of(optopt);
    throw UsageError(name + ": an argument is missing; write " + with_argument(name, forms_[form_of(optopt)]));
  }
  if (c == '?') {
    if (optopt >= kFirstWord) throw UsageError(name_of(optopt) + ": takes no argument" + see);
    // A letter that is no option is in optopt; a word is in argv only.
    if (optopt) throw UsageError(name_of(optopt) + ": no such option" + see);
    const std::string word = argv_[optind - 1], question = question_about(word);
    throw UsageError(word + ": no such option" + (question.empty() ? see : "; " + question));
  }
  const size_t form = form_of(c);
  has_ended_ = forms_[form].ends;
  return Found{form, {name_of(c), optarg ? optarg : ""}};
}

std::vector<std::string> Scanner::rest() const { return {argv_ + optind, argv_ + argc_}; }

std::string help_of(const std::vector<Form>& forms, const HelpLayout& layout) {
  std::string text;
  for (const Form& form : forms) {
    if (!form.help[0]) continue;
    std::string line = label_of(form, layout.is_indented);
    if (line.size() + 2 > layout.column) {
      text += line + "\n";
      line.clear();
    }
    line.resize(layout.column, ' ');
    text += folded_line(line + form.help, layout.column);
  }
  return text;
}

std::string folded(const std::string& text, const HelpLayout& layout) {
  std::string result;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string line = text.substr(start, end - start);
    result += folded_line(line, line.starts_with("  ") ? layout.column : 0);
    start = end + 1;
  }
  return result;
}

UsageError exclusion(const std::string& one, const std::string& other, const std::string& why) {
  return UsageError(one + " and " + other + " exclude each other" + (why.empty() ? "" : "; ") + why);
}

void check(const GivenForms& given, const std::vector<Exclusion>& exclusions,
           const std::vector<Requirement>& requirements) {
  for (const Exclusion& rule : exclusions) {
    const std::string one = first_of(given, rule.some), other = first_of(given, rule.others);
    if (!one.empty() && !other.empty()) throw exclusion(one, other, rule.why);
  }
  for (const Requirement& rule : requirements)
    if (!first_of(given, {rule.option}).empty() && first_of(given, {rule.other}).empty())
      throw UsageError(std::string(rule.option) + " needs " + rule.other + (rule.why[0] ? "; " : "") + rule.why);
}

void refuse(const Given& given, const std::string& what, const std::string& right) {
  throw UsageError(given.option + ": invalid " + what + " '" + given.argument + "'; write " + right);
}

uint64_t size_of(const Given& given, const std::string& text) {
  uint64_t size = 0;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, size);
  const std::string unit(at, end);
  const unsigned shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 64;
  if (error != std::errc() || shift == 64 || size > UINT64_MAX >> shift)
    refuse({given.option, text}, "size", "500K, 20M or 2G");
  return size << shift;
}

uint64_t size_of(const Given& given) { return size_of(given, given.argument); }

std::string name_of(const Given& given, const char* what) {
  if (given.argument.empty())
    throw UsageError(given.option + ": the name is empty; write " + given.option + " " + what);
  return given.argument;
}

std::string listed(const std::vector<std::string>& words, const char* last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? std::string(" ") + last + " " : ", ") + words[i];
  return text;
}

}  // namespace prof_options
