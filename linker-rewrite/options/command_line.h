// Options of a command line, for all programs here. A command has a table of its options; each stands there once, with
// how it is written, what help says of it, how it is taken, and what it goes with. Help is made of the table;
// completion and the tests of the manuals read help. Below are the arguments of options, from text to values.
//
// The table stands in front of getopt_long, which knows abbreviations, letters that are written together, and arguments
// that may be left out. CLI11 2.1 was tried: it can express neither `prof run -- PROGRAM`, nor --libs[=GLOB], nor
// abbreviations.

#ifndef OPTIONS_COMMAND_LINE_H
#define OPTIONS_COMMAND_LINE_H

#include <getopt.h>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace prof_options {

// A command line that makes no sense: "what is wrong; what to do". Exit status 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// An option that stands on the command line.
struct Given {
  std::string option;    // as messages call it: by its letter or its whole word, whichever was used
  std::string argument;  // "" if there is none
};

// How an option is written, and what help says of it.
struct Form {
  char letter;           // 0: it has none
  const char* word;      // "": it has none
  const char* argument;  // as help calls it: "GLOB"; "[GLOB]": it may be left out; "": there is none
  const char* help;      // "": help does not have it
  bool ends = false;     // what stands after it is not looked at
};

template <class Values>
struct Option {
  Form form;
  void (*take)(Values&, const Given&);
  // What it goes with, as bits: views, and commands that share a table. What a bit means is the table's.
  unsigned views = ~0u, commands = ~0u;
};

template <class Values>
using Table = std::vector<Option<Values>>;

// -h, --help.
template <class Values>
Option<Values> help_option() {
  return {{'h', "help", "", "print this", true}, [](Values& values, const Given&) { values.help = true; }};
}

// Ways to take an option that is about one member. They stand in tables as set<&Values::member>.
template <auto member, class Values>
void set(Values& values, const Given&) {
  values.*member = true;
}
template <auto member, class Values>
void keep(Values& values, const Given& given) {
  values.*member = given.argument;
}
template <auto member, class Values>
void add(Values& values, const Given& given) {
  (values.*member).push_back(given.argument);
}

struct Command {
  const char* name;    // for "see prof run --help"
  bool stops = false;  // options end at the first word that is none: what is after it belongs to another program
  unsigned bit = ~0u;  // in Option::commands
};

// Reads the options of a command line, one after the other.
class Scanner {
 public:
  // `argv[0]` is skipped; argv may be put in another order.
  Scanner(std::vector<Form> forms, const Command& command, int argc, char** argv);

  struct Found {
    size_t form;  // which of them
    Given given;
  };
  // Nothing after the last one. Throws UsageError.
  std::optional<Found> next();

  // What is left: no options.
  std::vector<std::string> rest() const;

 private:
  std::string name_of(int value) const;
  std::string question_about(const std::string& word) const;

  size_t form_of(int value) const;

  std::vector<Form> forms_;
  std::vector<option> words_;
  Command command_;
  int argc_;
  char** argv_;
  std::string letters_;
  bool has_ended_ = false;
};

// What stood on a command line.
template <class Values>
struct Parsed {
  std::vector<std::pair<const Option<Values>*, Given>> options;
  std::vector<std::string> rest;
};

// Takes all options. Throws UsageError.
template <class Values>
Parsed<Values> parse(const Table<Values>& table, const Command& command, int argc, char** argv, Values& values) {
  std::vector<Form> forms;
  std::vector<const Option<Values>*> options;
  for (const Option<Values>& option : table) {
    if (!(option.commands & command.bit)) continue;
    forms.push_back(option.form);
    options.push_back(&option);
  }
  Parsed<Values> parsed;
  Scanner scanner(forms, command, argc, argv);
  while (const std::optional<Scanner::Found> found = scanner.next()) {
    options[found->form]->take(values, found->given);
    parsed.options.emplace_back(options[found->form], found->given);
  }
  parsed.rest = scanner.rest();
  return parsed;
}

struct HelpLayout {
  size_t column;             // where what is said of an option begins
  bool is_indented = false;  // words without a letter stand below those with one
};

// What help says of options, a line or more for each.
std::string help_of(const std::vector<Form>& forms, const HelpLayout& layout);

template <class Values>
std::string help_of(const Table<Values>& table, const HelpLayout& layout) {
  std::vector<Form> forms;
  for (const Option<Values>& option : table) forms.push_back(option.form);
  return help_of(forms, layout);
}

// The same text with lines that are too long for 80 columns broken at blanks. Those that begin with two blanks go on at
// the layout's column.
std::string folded(const std::string& text, const HelpLayout& layout);

// Two options, of which one only can be given.
UsageError exclusion(const std::string& one, const std::string& other, const std::string& why = "");

// Options that do not go together: one of the first with one of the others. They are named as on the command line;
// --word= means --word with an argument only.
struct Exclusion {
  std::vector<const char*> some, others;
  const char* why = "";
};

// Options that are for nothing without another.
struct Requirement {
  const char* option;
  const char* other;
  const char* why = "";
};

// Throws UsageError if one of these does not hold.
using GivenForms = std::vector<std::pair<Form, Given>>;
void check(const GivenForms& given, const std::vector<Exclusion>& exclusions,
           const std::vector<Requirement>& requirements);

template <class Values>
void check(const Parsed<Values>& parsed, const std::vector<Exclusion>& exclusions,
           const std::vector<Requirement>& requirements) {
  GivenForms given;
  for (const auto& [option, as_given] : parsed.options) given.emplace_back(option->form, as_given);
  check(given, exclusions, requirements);
}

// The arguments of options, from text to values. All throw UsageError for a text that is none: what is wrong, and what
// to write.

// "--sort: invalid key 'x'; write self or total"
[[noreturn]] void refuse(const Given& given, const std::string& what, const std::string& right);

// Bytes, or units of 1024, 1024^2 and 1024^3 of them with the letters K, M and G.
uint64_t size_of(const Given& given, const std::string& text);
uint64_t size_of(const Given& given);

// The argument of an option that needs a name, as "FILE".
std::string name_of(const Given& given, const char* what);

// "a, b or c"
std::string listed(const std::vector<std::string>& words, const char* last = "or");

// All of a text as a number; `right` says in an error which one is wanted.
template <class Number>
Number number_of(const Given& given, const std::string& text, Number least, Number most, const char* right) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= least) || !(number <= most))
    refuse({given.option, text}, "number", right);
  return number;
}
template <class Number>
Number number_of(const Given& given, Number least, Number most, const char* right) {
  return number_of(given, given.argument, least, most, right);
}

// The value of one of some words. `what`: what they are, "key".
template <class Value>
Value one_of(const Given& given, const char* what, const std::vector<std::pair<const char*, Value>>& values) {
  std::vector<std::string> words;
  for (const auto& [word, value] : values) {
    if (given.argument == word) return value;
    words.emplace_back(word);
  }
  refuse(given, what, listed(words));
}

}  // namespace prof_options

#endif
