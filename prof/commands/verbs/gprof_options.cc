#include "gprof_options.h"

#include <getopt.h>
// libiberty.h would declare another basename than <cstring> does.
#define HAVE_DECL_BASENAME 1
#include <libiberty/libiberty.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>

#include "linker-rewrite/options/command_line.h"
#include "prof/commands/options/message.h"

namespace prof {

namespace {

using gprof::Subject;
using gprof::SubjectSpecs;

enum LongOption { option_demangle = 256, option_no_demangle, option_file_names, option_static_calls, option_chains };

// The colon in front has a missing argument told from an unknown option.
constexpr char kLetters[] = ":aA::bBcC::d::De:E:f:F:hiI:J::k:lLm:n:N:O:p::P::q::Q::rR:sS:t:Tvw:xyzZ::";

const option kWords[] = {{"line", no_argument, nullptr, 'l'},
                         {"no-static", no_argument, nullptr, 'a'},
                         {"ignore-non-functions", no_argument, nullptr, 'D'},
                         {"annotated-source", optional_argument, nullptr, 'A'},
                         {"no-annotated-source", optional_argument, nullptr, 'J'},
                         {"flat-profile", optional_argument, nullptr, 'p'},
                         {"no-flat-profile", optional_argument, nullptr, 'P'},
                         {"graph", optional_argument, nullptr, 'q'},
                         {"no-graph", optional_argument, nullptr, 'Q'},
                         {"exec-counts", optional_argument, nullptr, 'C'},
                         {"no-exec-counts", optional_argument, nullptr, 'Z'},
                         {"function-ordering", no_argument, nullptr, 'r'},
                         {"file-ordering", required_argument, nullptr, 'R'},
                         {"file-info", no_argument, nullptr, 'i'},
                         {"sum", no_argument, nullptr, 's'},
                         {"all-lines", no_argument, nullptr, 'x'},
                         {"brief", no_argument, nullptr, 'b'},
                         {"chains", no_argument, nullptr, option_chains},
                         {"debug", optional_argument, nullptr, 'd'},
                         {"demangle", optional_argument, nullptr, option_demangle},
                         {"no-demangle", no_argument, nullptr, option_no_demangle},
                         {"directory-path", required_argument, nullptr, 'I'},
                         {"display-unused-functions", no_argument, nullptr, 'z'},
                         {"external-symbol-table", required_argument, nullptr, 'S'},
                         {"file-format", required_argument, nullptr, 'O'},
                         {"help", no_argument, nullptr, 'h'},
                         {"inline-file-names", no_argument, nullptr, option_file_names},
                         {"min-count", required_argument, nullptr, 'm'},
                         {"no-time", required_argument, nullptr, 'N'},
                         {"print-path", no_argument, nullptr, 'L'},
                         {"separate-files", no_argument, nullptr, 'y'},
                         {"static-call-graph", optional_argument, nullptr, option_static_calls},
                         {"table-length", required_argument, nullptr, 't'},
                         {"time", required_argument, nullptr, 'n'},
                         {"traditional", no_argument, nullptr, 'T'},
                         {"version", no_argument, nullptr, 'v'},
                         {"width", required_argument, nullptr, 'w'},
                         {nullptr, 0, nullptr, 0}};

SubjectSpecs& specs_of(GprofOptions& options, Subject subject) { return options.specs[size_t(subject)]; }

void add_folders(const std::string& list, std::vector<std::string>& to) {
  for (size_t start = 0; start <= list.size();) {
    const size_t end = std::min(list.find(':', start), list.size());
    if (end > start) to.push_back(list.substr(start, end - start));
    start = end + 1;
  }
}

// An output that is wanted, as a whole or, with a symspec, a part of it.
bool take_output(int letter, const char* spec, GprofOptions& options) {
  struct Wanted {
    int letter;
    GprofOutput output;
    Subject subject;
  };
  constexpr Wanted kWanted[] = {{'p', output_flat, Subject::flat},
                                {'q', output_graph, Subject::graph},
                                {'C', output_counts, Subject::counts},
                                {'A', output_source, Subject::source}};
  for (const Wanted& wanted : kWanted) {
    if (wanted.letter != letter) continue;
    // -q and -Q take arcs as well.
    const bool is_arc = spec && letter == 'q' && std::string(spec).find('/') != std::string::npos;
    if (spec) specs_of(options, is_arc ? Subject::arcs : wanted.subject).only.emplace_back(spec);
    options.outputs |= wanted.output;
    options.not_usual |= wanted.output;
    return true;
  }
  return false;
}

// An output that is not wanted, or with a symspec, of which a part is not.
bool take_no_output(int letter, const char* spec, GprofOptions& options) {
  struct Unwanted {
    int letter;
    GprofOutput output;
    Subject subject;
  };
  constexpr Unwanted kUnwanted[] = {{'P', output_flat, Subject::flat},
                                    {'Q', output_graph, Subject::graph},
                                    {'Z', output_counts, Subject::counts},
                                    {'J', output_source, Subject::source}};
  for (const Unwanted& unwanted : kUnwanted) {
    if (unwanted.letter != letter) continue;
    const bool is_arc = spec && letter == 'Q' && std::string(spec).find('/') != std::string::npos;
    if (spec) specs_of(options, is_arc ? Subject::arcs : unwanted.subject).except.emplace_back(spec);
    options.outputs = spec ? options.outputs | unwanted.output : options.outputs & ~GprofOutputs(unwanted.output);
    options.not_usual |= unwanted.output;
    return true;
  }
  return false;
}

// Outputs without symspecs.
bool take_other_output(int letter, const char* argument, GprofOptions& options) {
  GprofOutput output;
  switch (letter) {
    case 'B':
      output = output_graph;
      break;
    case 'i':
      output = output_file_info;
      break;
    case 's':
      output = output_sum;
      break;
    case 'r':
      output = output_function_order;
      break;
    case 'R':
      output = output_file_order;
      options.object_map = prof_options::name_of({"gprof -R", argument}, "FILE");
      break;
    default:
      return false;
  }
  options.outputs |= output;
  options.not_usual |= output;
  return true;
}

void take_static_calls(const std::string& which, GprofOptions& options) {
  if (!which.empty() && which != "all")
    prof_options::refuse({"gprof --static-call-graph", which}, "kind of graph", "all");
  options.static_calls = which.empty() ? GprofOptions::StaticCalls::of_gprof : GprofOptions::StaticCalls::all;
}

// What the numbers are made of, and which of them.
bool take_analysis(int letter, const char* argument, GprofOptions& options) {
  switch (letter) {
    case 'a':
      options.no_static = true;
      return true;
    case 'c':
      options.static_calls = GprofOptions::StaticCalls::of_gprof;
      return true;
    case option_static_calls:
      take_static_calls(argument ? argument : "", options);
      return true;
    case 'D':
      options.functions_only = true;
      return true;
    case 'l':
      options.lines = true;
      return true;
    case 'n':
      specs_of(options, Subject::time).only.emplace_back(argument);
      return true;
    case 'N':
      specs_of(options, Subject::time).except.emplace_back(argument);
      return true;
    case 'F':
      specs_of(options, Subject::time).only.emplace_back(argument);
      [[fallthrough]];
    case 'f':
      specs_of(options, Subject::graph).only.emplace_back(argument);
      return true;
    case 'E':
      specs_of(options, Subject::time).except.emplace_back(argument);
      [[fallthrough]];
    case 'e':
      specs_of(options, Subject::graph).except.emplace_back(argument);
      return true;
    case 'k':
      if (std::string(argument).find('/') == std::string::npos)
        prof_options::refuse({"gprof -k", argument}, "arc", "FROM/TO");
      specs_of(options, Subject::arcs).except.emplace_back(argument);
      return true;
    case 'S':
      options.symbols_file = prof_options::name_of({"gprof -S", argument}, "FILE");
      return true;
    default:
      return false;
  }
}

std::string format_of(const std::string& text) {
  // gprof looks at the first letter only.
  for (const char* format : {"auto", "magic", "bsd", "4.4bsd"})
    if (!text.empty() && text[0] == format[0]) return format;
  if (text.starts_with('p')) throw UsageError("gprof -O " + text + ": files of prof(1) of System V are not read");
  prof_options::refuse({"gprof -O", text}, "format", "auto, magic, bsd or 4.4bsd");
}

void take_demangling(const std::string& style, GprofOptions& options, std::vector<std::string>& remarks) {
  options.demangle = style != "none";
  if (style == "java") remarks.emplace_back("--demangle=java: names are demangled by what they look like");
  for (const char* known : {"", "none", "auto", "gnu-v3", "java", "gnat", "dlang", "rust"})
    if (style == known) return;
  prof_options::refuse({"gprof --demangle", style}, "style", "auto, gnu-v3, gnat, dlang, rust or none");
}

// How outputs look.
bool take_style(int letter, const char* argument, GprofOptions& options, std::vector<std::string>& remarks) {
  constexpr unsigned kMax = 1'000'000;
  switch (letter) {
    case 'b':
      options.brief = true;
      return true;
    case 'I':
      add_folders(argument, options.folders);
      return true;
    case 'L':
      options.full_paths = true;
      return true;
    case 'm':
      options.least_count =
          prof_options::number_of<uint64_t>({"gprof -m", argument}, 0, UINT64_MAX, "a number of calls");
      return true;
    case 'O':
      options.format = format_of(argument);
      return true;
    case 't':
      options.table_length = prof_options::number_of<unsigned>({"gprof -t", argument}, 0, kMax, "a number of lines");
      return true;
    case 'T':
      options.traditional = true;
      return true;
    case 'w':
      options.width = prof_options::number_of<unsigned>({"gprof -w", argument}, 0, kMax, "a number of columns");
      return true;
    case 'x':
      options.all_lines = true;
      return true;
    case 'y':
      options.separate_files = true;
      return true;
    case 'z':
      options.unused = true;
      return true;
    case option_demangle:
      take_demangling(argument ? argument : "", options, remarks);
      return true;
    case option_no_demangle:
      options.demangle = false;
      return true;
    case option_file_names:
      options.file_names = true;
      return true;
    case option_chains:
      options.chains = true;
      return true;
    default:
      return false;
  }
}

void take(int letter, const char* argument, GprofOptions& options, std::vector<std::string>& remarks) {
  if (take_output(letter, argument, options) || take_no_output(letter, argument, options) ||
      take_other_output(letter, argument, options) || take_analysis(letter, argument, options) ||
      take_style(letter, argument, options, remarks))
    return;
  switch (letter) {
    case 'd':
      options.debug =
          argument ? prof_options::number_of<unsigned>({"gprof -d", argument}, 0, UINT32_MAX, "a level") : UINT32_MAX;
      return;
    case 'h':
      options.help = true;
      return;
    case 'v':
      options.version = true;
      return;
    default:
      break;
  }
}

// What getopt_long calls an option that it does not know.
std::string unknown(char** argv) {
  if (optopt > 0 && optopt < 256) return std::string("-") + char(optopt);
  return argv[optind - 1];
}

std::string error_text(int result, char** argv) {
  const option* word = std::find_if(std::begin(kWords), std::end(kWords) - 1,
                                    [](const option& o) { return o.val == optopt && optopt != 0; });
  if (result == ':') return unknown(argv) + ": needs an argument";
  if (optopt != 0 && word != std::end(kWords) - 1) return std::string(argv[optind - 1]) + ": takes no argument";
  return unknown(argv) + ": no such option, or one of several that begin so";
}

// @FILE, which stands for what is in a file.
class ExpandedArguments {
 public:
  ExpandedArguments(int argc, char** argv) : argc_(argc), argv_(argv), before_(argv) { expandargv(&argc_, &argv_); }
  ExpandedArguments(const ExpandedArguments&) = delete;
  ~ExpandedArguments() {
    if (argv_ != before_) freeargv(argv_);
  }
  int count() const { return argc_; }
  char** words() const { return argv_; }

 private:
  int argc_;
  char** argv_;
  char** before_;
};

}  // namespace

GprofOptions parse_gprof_options(int argc, char** argv, std::vector<std::string>& remarks) {
  const ExpandedArguments arguments(argc, argv);
  char** words = arguments.words();
  GprofOptions options;
  opterr = 0;
  optind = 0;
  for (int letter; (letter = getopt_long(arguments.count(), words, kLetters, kWords, nullptr)) != -1;) {
    if (letter == '?' || letter == ':') throw UsageError("gprof " + error_text(letter, words));
    take(letter, optarg, options, remarks);
  }
  if ((options.outputs & output_function_order) && (options.outputs & output_file_order))
    throw prof_options::exclusion("gprof -r", "-R");
  if (const char* path = std::getenv("GPROF_PATH")) add_folders(path, options.folders);
  int next = optind;
  if (next < arguments.count()) options.program = words[next++];
  if (next < arguments.count()) options.profiles.assign(words + next, words + arguments.count());
  return options;
}

std::string gprof_help_text() {
  return "usage: prof gprof [options] [program [profile ...]]\n"
         "\n"
         "gprof: its options, and what it prints. The program is a.out, the profile gmon.out\n"
         "if none is named; a profile may be a prof.PID as well. Several are added up.\n"
         "SPEC is a function, FILE.c, LINE, FILE.c:FUNCTION or FILE.c:LINE; an arc is\n"
         "SPEC/SPEC.\n"
         "\n"
         "  -p, --flat-profile[=SPEC]         functions by time\n"
         "  -P, --no-flat-profile[=SPEC]      not these; without SPEC, no such output\n"
         "  -q, --graph[=SPEC]                functions with callers and callees; SPEC may\n"
         "                                    be an arc\n"
         "  -Q, --no-graph[=SPEC]             not these, or no such output\n"
         "  -B                                the call graph\n"
         "  -C, --exec-counts[=SPEC]          executions of functions, with -l of lines\n"
         "  -Z, --no-exec-counts[=SPEC]       not these, or no such output\n"
         "  -A, --annotated-source[=SPEC]     sources with executions of their lines\n"
         "  -J, --no-annotated-source[=SPEC]  not these, or no such output\n"
         "  -i, --file-info                   what is in the profiles\n"
         "  -s, --sum                         adds the profiles up in gmon.sum\n"
         "  -r, --function-ordering           functions in the order for a linker\n"
         "  -R, --file-ordering MAP           object files in the order for a linker; MAP\n"
         "                                    is what nm --print-file-name prints\n"
         "  --chains                          -r and -R in another order than gprof's, which\n"
         "                                    has more of what calls each other side by side\n"
         "\n"
         "  -a, --no-static                   static functions belong to the one before\n"
         "  -c, --static-call-graph[=all]     calls in the code as well, with a count of 0:\n"
         "                                    those that gprof finds, or all\n"
         "  -D, --ignore-non-functions        no symbols that are not of functions\n"
         "  -l, --line                        lines of the source instead of functions\n"
         "  -n, --time SPEC                   propagate only these functions' times\n"
         "  -N, --no-time SPEC                do not propagate these functions' times\n"
         "  -k FROM/TO                        leave arcs out\n"
         "  -f NAME, -e NAME                  only, or not, this function and its callees\n"
         "                                    in the call graph\n"
         "  -F NAME, -E NAME                  the same, and in its times\n"
         "  -m, --min-count N                 ##### beside lines that ran less, in -A\n"
         "  -z, --display-unused-functions    functions that did nothing, too\n"
         "  -S, --external-symbol-table FILE  symbols from a file, as nm prints them\n"
         "  -O, --file-format FORMAT          auto, magic, bsd or 4.4bsd\n"
         "\n"
         "  -b, --brief                       do not explain the fields\n"
         "  -T, --traditional                 as BSD's gprof prints it\n"
         "  -w, --width N                     columns of the index of functions\n"
         "  -L, --print-path                  whole paths of sources\n"
         "  --inline-file-names               sources after names of functions\n"
         "  --demangle[=STYLE], --no-demangle\n"
         "  -I, --directory-path FOLDERS      where sources are, with colons between\n"
         "  -t, --table-length N              the N lines that ran most, after sources\n"
         "  -x, --all-lines                   a count beside each line\n"
         "  -y, --separate-files              sources to files, SOURCE-ann\n"
         "  -d, --debug[=LEVEL]               how the figures came about\n"
         "  -v, --version\n"
         "  @FILE                             options from a file\n"
         "\n"
         "See prof-gprof(1).\n";
}

}  // namespace prof
