#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "linker-rewrite/options/command_line.h"
#include "prof/commands/options/message.h"
#include "prof/instructions/trace/trace_listing.h"
#include "prof/instructions/trace/trace_reader.h"
#include "trace_command_line.h"

namespace prof {

namespace {

using prof_options::add;
using prof_options::Given;

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
uint64_t address_of(const Given& given, std::string text) {
  const bool is_hexadecimal = text.starts_with("0x");
  if (is_hexadecimal) text.erase(0, 2);
  uint64_t address = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), address, is_hexadecimal ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size())
    prof_options::refuse(given, "range", "FROM-TO or FROM,+BYTES");
  return address;
}

void add_range(ItraceOptions& o, const Given& given) {
  const std::string& text = given.argument;
  const size_t plus = text.find(",+"), minus = text.find('-');
  const size_t end = std::min(plus, minus);
  if (end == std::string::npos) prof_options::refuse(given, "range", "FROM-TO or FROM,+BYTES");
  const bool is_length = plus != std::string::npos;
  const uint64_t from = address_of(given, text.substr(0, is_length ? plus : minus));
  const uint64_t to = address_of(given, text.substr(is_length ? plus + 2 : minus + 1));
  o.filter.ranges.emplace_back(from, is_length ? from + to : to);
}

template <auto member>
void keep_count(ItraceOptions& o, const Given& given) {
  o.filter.*member = prof_options::number_of<uint64_t>(given, 0, UINT64_MAX - 1, "a number of instructions");
}

template <ListingForm form>
void list_as(ItraceOptions& o, const Given&) {
  o.form = form;
}

const prof_options::Table<ItraceOptions> kOptions = {
    {{0, "range", "FROM-TO",
      "only instructions at these addresses, up to the one in front of TO (repeatable); FROM,+BYTES is the same"},
     add_range},
    {{0, "function", "GLOB", "only those of functions whose names match (repeatable)"}, add<&ItraceOptions::functions>},
    {{0, "not-function", "GLOB", "not those of functions whose names match (repeatable)"},
     add<&ItraceOptions::not_functions>},
    {{0, "thread", "TID", "only those of this thread (repeatable)"},
     [](ItraceOptions& o, const Given& given) {
       o.filter.threads.push_back(prof_options::number_of<uint32_t>(given, 0, UINT32_MAX, "the id of a thread"));
     }},
    {{0, "first", "N", "only the first N of them"}, keep_count<&TraceFilter::first>},
    {{0, "last", "N", "only the last N of them"}, keep_count<&TraceFilter::last>},
    {{0, "lackey", "", "as valgrind's lackey prints them with --trace-mem=yes"}, list_as<ListingForm::lackey>},
    {{0, "drcachesim", "", "as the viewer of DynamoRIO's drcachesim prints them"}, list_as<ListingForm::drcachesim>},
    {{'o', "", "FILE", "write to FILE, not to standard output"},
     [](ItraceOptions& o, const Given& given) { o.output = prof_options::name_of(given, "FILE"); }},
    {{0, "debug-dir", "DIR", "look for debug files of stripped programs in DIR, too (repeatable)"},
     [](ItraceOptions& o, const Given& given) { o.debug.folders.push_back(given.argument); }},
    {{0, "raw-names", "", "do not demangle names"}, prof_options::set<&ItraceOptions::raw_names>},
    prof_options::help_option<ItraceOptions>(),
};

// prof itrace --help
std::string itrace_help_text() {
  return "usage: prof itrace [options] TRACE\n"
         "\n"
         "Prints the instructions of a trace, one after the other: the thread, the\n"
         "address, the function, the instruction and what it read (R) and wrote (W):\n"
         "bytes and address. A trace is what prof trace wrote, or trace.PID of a program\n"
         "that profld --trace rewrote.\n"
         "\n" +
         prof_options::help_of(kOptions, {23}) +
         "\n"
         "See prof-itrace(1).\n";
}

ItraceOptions parse(int argc, char** argv) {
  ItraceOptions o = parse_trace_command_line(kOptions, "itrace", argc, argv, {{{"--lackey"}, {"--drcachesim"}}});
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
    out.text(itrace_help_text());
  } else {
    list(options, out);
  }
  out.finish();
  return 0;
}

}  // namespace prof
