#include "itrace.h"

#include <memory>
#include <string>
#include <vector>

#include "prof/commands/options/message.h"
#include "prof/commands/options/option_values.h"
#include "prof/instructions/trace/trace_listing.h"
#include "prof/instructions/trace/trace_reader.h"
#include "trace_command_line.h"

namespace prof {

namespace {

constexpr char kHelp[] =
    "usage: prof itrace [options] TRACE\n"
    "\n"
    "Prints the instructions of a trace, one after the other: the thread, the\n"
    "address, the function, the instruction and what it read (R) and wrote (W):\n"
    "bytes and address. A trace is what prof trace wrote, or trace.PID of a program\n"
    "that profld --trace rewrote.\n"
    "\n"
    "  --range FROM-TO      only instructions at these addresses, up to the one in\n"
    "                       front of TO (repeatable); FROM,+BYTES is the same\n"
    "  --function GLOB      only those of functions whose names match (repeatable)\n"
    "  --not-function GLOB  not those of functions whose names match (repeatable)\n"
    "  --thread TID         only those of this thread (repeatable)\n"
    "  --first N            only the first N of them\n"
    "  --last N             only the last N of them\n"
    "  --lackey             as valgrind's lackey prints them with --trace-mem=yes\n"
    "  --drcachesim         as the viewer of DynamoRIO's drcachesim prints them\n"
    "  -o FILE              write to FILE, not to standard output\n"
    "  --debug-dir DIR      look for debug files of stripped programs in DIR, too\n"
    "                       (repeatable)\n"
    "  --raw-names          do not demangle names\n"
    "  -h, --help           print this\n"
    "\n"
    "See prof-itrace(1).\n";

enum LongOption {
  option_range = 256,
  option_function,
  option_not_function,
  option_thread,
  option_first,
  option_last,
  option_lackey,
  option_drcachesim,
  option_debug_dir,
  option_raw_names
};

const option kWords[] = {{"range", required_argument, nullptr, option_range},
                         {"function", required_argument, nullptr, option_function},
                         {"not-function", required_argument, nullptr, option_not_function},
                         {"thread", required_argument, nullptr, option_thread},
                         {"first", required_argument, nullptr, option_first},
                         {"last", required_argument, nullptr, option_last},
                         {"lackey", no_argument, nullptr, option_lackey},
                         {"drcachesim", no_argument, nullptr, option_drcachesim},
                         {"debug-dir", required_argument, nullptr, option_debug_dir},
                         {"raw-names", no_argument, nullptr, option_raw_names},
                         {"help", no_argument, nullptr, 'h'},
                         {nullptr, 0, nullptr, 0}};

struct ItraceOptions {
  TraceFilter filter;
  std::vector<std::string> functions, not_functions;
  ListingForm form = ListingForm::text;
  DebugSearch debug;
  bool raw_names = false;
  bool help = false;
  std::string output;  // empty: standard output
  std::string trace;
};

// Hexadecimal with 0x, else decimal.
uint64_t address_of(const std::string& range, std::string text) {
  const bool is_hexadecimal = text.starts_with("0x");
  if (is_hexadecimal) text.erase(0, 2);
  uint64_t address = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), address, is_hexadecimal ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError("itrace --range " + range + ": is no range: FROM-TO, or FROM,+BYTES");
  return address;
}

std::pair<uint64_t, uint64_t> range_of(const std::string& text) {
  const size_t plus = text.find(",+"), minus = text.find('-');
  if (plus != std::string::npos) {
    const uint64_t from = address_of(text, text.substr(0, plus));
    return {from, from + address_of(text, text.substr(plus + 2))};
  }
  if (minus == std::string::npos) throw UsageError("itrace --range " + text + ": is no range: FROM-TO, or FROM,+BYTES");
  return {address_of(text, text.substr(0, minus)), address_of(text, text.substr(minus + 1))};
}

uint64_t count_of(const char* option_name, const std::string& text) {
  return parse_number<uint64_t>(std::string("itrace ") + option_name, text, 0, UINT64_MAX - 1, "number");
}

void set_form(ItraceOptions& options, ListingForm form) {
  if (options.form != ListingForm::text && options.form != form)
    throw UsageError("itrace: --lackey and --drcachesim exclude each other");
  options.form = form;
}

bool take_filter(int letter, const std::string& argument, ItraceOptions& o) {
  switch (letter) {
    case option_range:
      o.filter.ranges.push_back(range_of(argument));
      return true;
    case option_function:
      o.functions.push_back(argument);
      return true;
    case option_not_function:
      o.not_functions.push_back(argument);
      return true;
    case option_thread:
      o.filter.threads.push_back(parse_number<uint32_t>("itrace --thread", argument, 0, UINT32_MAX, "thread"));
      return true;
    case option_first:
      o.filter.first = count_of("--first", argument);
      return true;
    case option_last:
      o.filter.last = count_of("--last", argument);
      return true;
    default:
      return false;
  }
}

bool take_style(int letter, const std::string& argument, ItraceOptions& o) {
  switch (letter) {
    case option_lackey:
      set_form(o, ListingForm::lackey);
      return true;
    case option_drcachesim:
      set_form(o, ListingForm::drcachesim);
      return true;
    case option_debug_dir:
      o.debug.folders.push_back(argument);
      return true;
    case option_raw_names:
      o.raw_names = true;
      return true;
    case 'o':
      o.output = file_name("itrace -o", argument);
      return true;
    case 'h':
      o.help = true;
      return true;
    default:
      return false;
  }
}

ItraceOptions parse(int argc, char** argv) {
  ItraceOptions o;
  const auto take = [&o](int c, const std::string& argument) {
    return take_filter(c, argument, o) || take_style(c, argument, o);
  };
  o.trace = parse_trace_command_line(argc, argv, {"itrace", ":o:h", kWords, take}, o.help);
  o.filter.functions = prof_names::Filter(o.functions, o.not_functions);
  return o;
}

void list(const ItraceOptions& options, Output& out) {
  TraceReader reader(options.trace);
  TraceNames names(options.debug, options.raw_names);
  TraceListing listing(options.filter, options.form, names, out);
  reader.read(listing);
  listing.finish();
  say_trace_remarks(reader, names);
}

}  // namespace

int itrace(int argc, char** argv) {
  const ItraceOptions options = parse(argc, argv);
  if (!options.output.empty() && !options.help) {
    write_file(options.output, [&](Output& out) { list(options, out); });
    return 0;
  }
  Output out(stdout, "standard output");
  if (options.help) {
    out.text(kHelp);
  } else {
    list(options, out);
  }
  out.finish();
  return 0;
}

}  // namespace prof
