// profld: the command line.

#include <getopt.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "libprof/printable.h"
#include "linker-rewrite/write/output_file.h"
#include "rewrite.h"

namespace profld {
namespace {

constexpr char kVersion[] = "profld " PROFLD_VERSION;  // from the file VERSION
constexpr char kUsage[] =
    R"(usage: profld [-v] [-o OUT] [-F GLOB]... [-N GLOB]... [--min-size BYTES] [--no-leaves]
              [--all] [--no-imports] [--no-hooks] [--report FILE] [--libprof FILE]
              [--audit FILE] PROGRAM
       profld --libs[=GLOB]... -o DIRECTORY [-F GLOB]... [-N GLOB]... [--min-size BYTES]
              [--no-leaves] [--all] PROGRAM
)";
constexpr char kHelp[] =
    R"(Write a copy of a finished x86-64 program, or of a shared library, in which every function counts and times its calls.
Running the copy leaves prof.<pid>, which prof(1) shows.

  -o, --output OUT      the copy (default: PROGRAM's base name with .prof, here)
  -F, --only GLOB       only functions whose name matches (repeatable)
  -N, --not GLOB        not functions whose name matches (repeatable)
      --min-size BYTES  only functions of at least BYTES of code
      --no-leaves       only functions that call others
      --all             of a library, also functions that are too small to time
      --no-imports      not the functions of shared libraries that they call
      --no-hooks        move functions, but let them call nothing: to see what moving costs
      --report FILE     write what was done, and what was left out and why, as JSON
      --libprof FILE    the runtime library (default: ../lib/libprof.so, seen from profld)
      --audit FILE      have the dynamic linker load FILE as well, which audits it (DT_AUDIT)
      --libs[=GLOB]     make a directory with the program and its libraries, for another machine
  -v, --verbose         say on standard error what was done, and why functions stay as they are
      --help            print this
      --version         print the version

A GLOB is a pattern like 'parse_*', as the shell has for names of files.
)";

struct Options {
  std::string program, output, report, runtime, audit;
  Selection selection;
  bool verbose = false;
};

// The library that belongs to this profld: ../lib/libprof.so from where the program itself is.
std::string default_runtime() {
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error("cannot find its own place (/proc/self/exe); give --libprof");
  return (self.parent_path().parent_path() / "lib" / "libprof.so").string();
}

using prof_text::printable;

// `problem`: what is wrong, naming the wrong word of the command line if there is one.
[[noreturn]] void usage_error(const std::string& problem = "") {
  if (!problem.empty()) std::cerr << "profld: " << printable(problem) << '\n';
  std::cerr << kUsage << "Try 'profld --help'.\n";
  std::exit(2);
}

// "strlen,memcpy"
std::set<std::string> split(const std::string& list) {
  std::set<std::string> names;
  std::istringstream words(list);
  for (std::string name; std::getline(words, name, ',');) names.insert(name);
  return names;
}

uint64_t parse_size(const char* text) {
  uint64_t size = 0;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), size);
  if (error == std::errc() && *end == '\0') return size;
  usage_error(std::string("--min-size ") + text + ": is no number of bytes");
}

Options parse(int argc, char** argv) {
  enum {
    kReport = 256,
    kRuntime,
    kMinSize,
    kNoLeaves,
    kAll,
    kNoHooks,
    kImports,
    kNoImports,
    kAudit,
    kHelpOption,
    kVersionOption
  };
  static const option kLong[] = {{"output", required_argument, nullptr, 'o'},
                                 {"only", required_argument, nullptr, 'F'},
                                 {"not", required_argument, nullptr, 'N'},
                                 {"min-size", required_argument, nullptr, kMinSize},
                                 {"no-leaves", no_argument, nullptr, kNoLeaves},
                                 {"all", no_argument, nullptr, kAll},
                                 {"no-hooks", no_argument, nullptr, kNoHooks},
                                 {"imports", optional_argument, nullptr, kImports},
                                 {"no-imports", no_argument, nullptr, kNoImports},
                                 {"report", required_argument, nullptr, kReport},
                                 {"libprof", required_argument, nullptr, kRuntime},
                                 {"audit", required_argument, nullptr, kAudit},
                                 {"verbose", no_argument, nullptr, 'v'},
                                 {"help", no_argument, nullptr, kHelpOption},
                                 {"version", no_argument, nullptr, kVersionOption},
                                 {nullptr, 0, nullptr, 0}};
  Options o;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, ":o:F:N:v", kLong, nullptr)) != -1;) switch (c) {
      case 'o':
        o.output = optarg;
        break;
      case 'F':
        o.selection.only.emplace_back(optarg);
        break;
      case 'N':
        o.selection.not_.emplace_back(optarg);
        break;
      case 'v':
        o.verbose = true;
        break;
      case kReport:
        o.report = optarg;
        break;
      case kMinSize:
        o.selection.min_size = parse_size(optarg);
        break;
      case kNoLeaves:
        o.selection.no_leaves = true;
        break;
      case kAll:
        o.selection.all = true;
        break;
      case kNoHooks:
        o.selection.no_hooks = true;
        break;
      case kImports:
        o.selection.imports = true;
        o.selection.imports_only = split(optarg ? optarg : "");
        break;
      case kNoImports:
        o.selection.imports = false;
        break;
      case kRuntime:
        o.runtime = optarg;
        break;
      case kAudit:
        o.audit = optarg;
        break;
      case kHelpOption:
        std::cout << kUsage << kHelp;
        std::exit(0);
      case kVersionOption:
        std::cout << kVersion << '\n';
        std::exit(0);
      case ':':
        usage_error(std::string(argv[optind - 1]) + ": an argument is missing");
      default: {
        // getopt stores a bad letter in optopt; a bad word is only in argv.
        const bool is_word = optopt == 0 || optopt >= kReport;
        usage_error((is_word ? std::string(argv[optind - 1]) : std::string("-") + char(optopt)) + ": no such option");
      }
    }
  if (optind + 1 != argc) usage_error();
  o.program = argv[optind];
  if (o.output.empty()) o.output = std::filesystem::path(o.program).filename().string() + ".prof";
  if (o.runtime.empty()) o.runtime = default_runtime();
  return o;
}

// The subject of an error message is the file that it is about.
int fail(const std::string& file, const std::string& message) {
  std::cerr << "profld: " << printable(file + ": " + message) << '\n';
  return 1;
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int run(int argc, char** argv) {
  std::string subject = argv[0];
  try {
    const Options o = parse(argc, argv);
    subject = o.program;
    Progress progress(isatty(STDERR_FILENO) ? stderr : nullptr, o.program, seconds);
    const Image image = Image::open(o.program);
    const Rewritten r = rewrite(
        image, o.selection, o.runtime, [&](double done, const char* stage) { progress.show(done, stage); }, o.audit);
    subject = o.output;
    write_program(o.output, o.program, r.file);
    progress.clear();
    if (!o.report.empty()) {
      subject = o.report;
      std::ofstream report(o.report);
      write_json(report, r.report);
      if (!report.flush()) throw Error(std::string("cannot be written: ") + std::strerror(errno));
    }
    if (o.verbose) {
      std::cerr << "profld: " << printable(o.output) << ": ";
      write_text(std::cerr, r.report);
    }
    return 0;
  } catch (const Error& e) {
    return fail(subject, e.what());
  } catch (const std::bad_alloc&) {
    return fail(subject, "out of memory");
  }
}

}  // namespace
}  // namespace profld

namespace {

// profld knows single files. What belongs together is prof's business: --libs is handed to it.
void hand_on_libraries(int argc, char** argv) {
  bool libraries = false;
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i)
    libraries |= std::strcmp(argv[i], "--libs") == 0 || std::strncmp(argv[i], "--libs=", 7) == 0;
  if (!libraries) return;
  std::error_code error;
  const std::filesystem::path beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "prof";
  std::vector<char*> arguments = {argv[0], const_cast<char*>("--pack")};
  arguments.insert(arguments.end(), argv + 1, argv + argc + 1);  // and the null behind them
  execv(beside.c_str(), arguments.data());
  execvp("prof", arguments.data());
  std::exit(profld::fail("prof", "is neither beside profld nor in PATH; install it"));
}

}  // namespace

int main(int argc, char** argv) {
  hand_on_libraries(argc, argv);
  signal(SIGXFSZ, SIG_IGN);  // at a file size limit write then fails, which is reported like any other error
  return profld::run(argc, argv);
}
