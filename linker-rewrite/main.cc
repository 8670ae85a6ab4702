// profld: the command line.

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <sstream>

#include "libprof/printable.h"
#include "linker-rewrite/elf/debug_names.h"
#include "linker-rewrite/options/command_line.h"
#include "linker-rewrite/options/runtime_file.h"
#include "linker-rewrite/write/output_file.h"
#include "rewrite.h"

namespace profld {
namespace {

// Exit statuses, besides 0.
constexpr int kFailed = 1, kWrongUsage = 2, kNothingToRewrite = 3;

constexpr char kVersion[] = "profld " PROFLD_VERSION;  // from the file VERSION
constexpr char kUsage[] =
    R"(usage: profld [-q] [-v] [-o OUT] [-F GLOB]... [-N GLOB]... [--min-size BYTES]
              [--no-leaves] [--all] [--discover] [--no-imports] [--no-hooks]
              [-b] [--latency [--keep GLOB]...] [--trace[=WHAT]]
              [--report FILE] [--libprof FILE] [--audit FILE]
              [--search-path DIRS] [--debug-dir DIR]... PROGRAM
       profld --libs[=GLOB]... -o DIRECTORY [-F GLOB]... [-N GLOB]...
              [--min-size BYTES] [--no-leaves] [--all] [--debug-dir DIR]...
              PROGRAM
)";
constexpr char kIntroduction[] =
    R"(Write a copy of a finished x86-64 program, or of a shared library, in which
every function counts and times its calls.  Running the copy leaves prof.<pid>,
which prof(1) shows.

)";
constexpr char kNotes[] =
    R"(
A GLOB is a pattern like 'parse_*', as the shell has for names of files.
Parameters, template arguments and outer names need not be in it: sort,
std::sort, 'std::sort<int*>' and 'std::*' all mean std::sort<int*>(int*, int*).

Environment of the copy when it runs:
  PROFTYPE              time (the default), elapsed, cpu, adaptive, sample or
                        count: what is measured
  PROFDIR               the folder for profiles (default: the current one)
  PROFBUDGET            with --latency: how many percent of calls' time hooks
                        may take (default: 2)
  PROFSIZE              the most nodes (functions, each by its chain of callers)
  PROFLIMIT             with --trace: the most bytes of the trace, as 500M
  PROFLAST              with --trace: only the last so many bytes of each thread
  PROFSTART             on, or off: nothing is recorded until prof ctl says so

See profld(1).
)";

struct Options {
  std::string program, output, report, runtime;
  LinkerWishes wishes;
  Selection selection;
  std::vector<std::string> debug_folders;
  bool verbose = false, quiet = false;
  bool help = false, version = false;
};

// The library that belongs to this profld. Where counts and samples are all that is wanted, it is the one that needs no
// hooks to learn of threads (decide/threads.cc).
std::string default_runtime(const Options& o, const Image& image) {
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error("cannot find its own place (/proc/self/exe); give --libprof");
  const bool samples = (o.selection.blocks || o.selection.trace) && (o.selection.no_hooks || o.selection.hooks_leave) &&
                       !image.is_static();
  const std::string file =
      prof_options::runtime_file(self.parent_path(), samples ? "libprof-sampler.so" : "libprof.so");
  return std::filesystem::path(file).lexically_normal().string();
}

using prof_text::printable;

// "strlen,memcpy"
std::set<std::string> split(const std::string& list) {
  std::set<std::string> names;
  std::istringstream words(list);
  for (std::string name; std::getline(words, name, ',');) names.insert(name);
  return names;
}

using prof_options::Given;
using prof_options::keep;
using prof_options::set;

template <auto member>
void select(Options& o, const Given&) {
  o.selection.*member = true;
}

const prof_options::Table<Options> kOptions = {
    {{'o', "output", "OUT", "the copy (default: PROGRAM's base name with .prof, here)"}, keep<&Options::output>},
    {{'b', "blocks", "", "count how often each basic block ran, too"}, select<&Selection::blocks>},
    {{0, "latency", "",
      "count blocks, and let hooks take how long calls last, which leave functions whose calls are short"},
     [](Options& o, const Given&) { o.selection.blocks = o.selection.hooks_leave = true; }},
    {{0, "keep", "GLOB", "with --latency: functions whose name matches keep their hooks (repeatable)"},
     [](Options& o, const Given& given) { o.selection.keep.emplace_back(given.argument); }},
    {{0, "trace", "[WHAT]",
      "write down which basic blocks run, one after the other; WHAT: blocks (the default); memory: also which memory "
      "each of their instructions reads and writes"},
     [](Options& o, const Given& given) {
       o.selection.trace = true;
       o.selection.trace_memory =
           !given.argument.empty() &&
           prof_options::one_of<bool>(given, "kind of trace", {{"blocks", false}, {"memory", true}});
     }},
    {{'F', "only", "GLOB", "only functions whose name matches (repeatable)"},
     [](Options& o, const Given& given) { o.selection.only.emplace_back(given.argument); }},
    {{'N', "not", "GLOB", "not functions whose name matches (repeatable)"},
     [](Options& o, const Given& given) { o.selection.not_.emplace_back(given.argument); }},
    {{0, "min-size", "BYTES", "only functions of at least BYTES of code"},
     [](Options& o, const Given& given) { o.selection.min_size = prof_options::size_of(given); }},
    {{0, "no-leaves", "", "only functions that call others"}, select<&Selection::no_leaves>},
    {{0, "all", "", "of a library, also functions that are too small to time"}, select<&Selection::all>},
    {{0, "discover", "", "also functions that no symbol or unwind table names"}, select<&Selection::discover>},
    {{0, "imports", "[NAMES]", ""},
     [](Options& o, const Given& given) {
       o.selection.imports = true;
       o.selection.imports_only = split(given.argument);
     }},
    {{0, "no-imports", "", "not the functions of shared libraries that they call"},
     [](Options& o, const Given&) { o.selection.imports = false; }},
    {{0, "no-hooks", "",
      "move functions, but let them call nothing: to see what moving costs; with -b, count blocks and take samples"},
     select<&Selection::no_hooks>},
    {{0, "report", "FILE", "write what was done, and what was left out and why, as JSON"}, keep<&Options::report>},
    {{0, "libprof", "FILE",
      "the runtime library (default: ../lib/profld/libprof.so, seen from profld); $ORIGIN/NAME: beside the copy"},
     keep<&Options::runtime>},
    {{0, "audit", "FILE", "have the dynamic linker load FILE as well, which audits it (DT_AUDIT)"},
     [](Options& o, const Given& given) { o.wishes.audit = given.argument; }},
    {{0, "search-path", "DIRS",
      "have the dynamic linker search these folders, with colons between them, for libraries first (DT_RUNPATH)"},
     [](Options& o, const Given& given) { o.wishes.search_path = given.argument; }},
    {{0, "debug-dir", "DIR", "look for the names of a stripped program in DIR, too (repeatable)"},
     prof_options::add<&Options::debug_folders>},
    // For help alone: see hand_on_libraries.
    {{0, "libs", "[GLOB]", "make a directory with the program and its libraries, for another machine"},
     nullptr,
     ~0u,
     0},
    {{'q', "quiet", "", "do not say that a GLOB matches no function, nor that little of the code has hooks"},
     set<&Options::quiet>},
    {{'v', "verbose", "", "say on standard error what was done, and why functions stay as they are"},
     set<&Options::verbose>},
    prof_options::help_option<Options>(),
    {{'V', "version", "", "print the version", true}, set<&Options::version>},
};

// Throws prof_options::UsageError.
Options parse(int argc, char** argv) {
  Options o;
  const auto parsed = prof_options::parse(kOptions, {"profld"}, argc, argv, o);
  if (o.help || o.version) return o;
  prof_options::check(parsed,
                      {{{"-b", "--latency"}, {"--trace"}, "a trace has all counts"},
                       {{"--no-hooks"}, {"--latency"}, "hooks take how long calls last"}},
                      {{"--keep", "--latency", "other hooks stay in any case"}});
  if (parsed.rest.size() != 1)
    throw prof_options::UsageError(
        std::string(parsed.rest.empty() ? "no program named" : "more than one program named") +
        "; write profld [options] PROGRAM, see profld --help");
  o.program = parsed.rest[0];
  if (o.output.empty()) o.output = std::filesystem::path(o.program).filename().string() + ".prof";
  return o;
}

// A name that begins with $ORIGIN leads the dynamic linker to the folder of the copy. The file need not be there yet;
// the runtime of this profld is what it has to be like.
RuntimeFile runtime_file(const Options& o, const Image& image) {
  const std::string& name = o.runtime;
  if (name.empty()) return default_runtime(o, image);
  for (const std::string origin : {"$ORIGIN/", "${ORIGIN}/"}) {
    if (!name.starts_with(origin)) continue;
    const auto beside = std::filesystem::absolute(o.output).parent_path() / name.substr(origin.size());
    return {std::filesystem::exists(beside) ? beside.string() : default_runtime(o, image), name};
  }
  return name;
}

// The subject of an error message is the file that it is about.
int fail(const std::string& file, const std::string& message, int status = kFailed) {
  std::cerr << "profld: " << printable(file + ": " + message) << '\n';
  return status;
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int run(int argc, char** argv) {
  std::string subject = argv[0];
  try {
    Options o = parse(argc, argv);
    if (o.help) std::cout << kUsage << kIntroduction << prof_options::help_of(kOptions, {24, true}) << kNotes;
    if (o.version) std::cout << kVersion << '\n';
    if (o.help || o.version) return 0;
    subject = o.program;
    Progress progress(isatty(STDERR_FILENO) ? stderr : nullptr, o.program, seconds);
    progress.watch();
    const Image image = Image::open(o.program);
    if (!o.selection.only.empty() || !o.selection.not_.empty())
      o.selection.debug_names = read_debug_names(image, o.program, o.debug_folders);
    const Rewritten r = rewrite(
        image, o.selection, runtime_file(o, image), [&](double done, const char* stage) { progress.show(done, stage); },
        o.wishes);
    subject = o.output;
    write_program(o.output, o.program, r.file);
    progress.clear();
    if (!o.quiet)
      for (const std::string& line : r.report.unmatched_patterns)
        std::cerr << "profld: " << printable(o.program + ": " + line) << '\n';
    if (!o.quiet && r.report.code.is_low())
      std::cerr << "profld: " << printable(o.program + ": " + low_coverage(r.report.code)) << '\n';
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
  } catch (const prof_options::UsageError& e) {
    std::cerr << "profld: " << printable(e.what()) << '\n';
    return kWrongUsage;
  } catch (const Error& e) {
    return fail(subject, e.what(), e.is_nothing_to_rewrite ? kNothingToRewrite : kFailed);
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
  arguments.insert(arguments.end(), argv + 1, argv + argc + 1);  // and the null after them
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
