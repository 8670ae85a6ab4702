// What a command line means as a whole: which view it names, and whether its options go together. The options are in
// option_table.cc.

#include "options.h"

#include "linker-rewrite/options/command_line.h"
#include "message.h"
#include "option_table.h"

namespace prof {

namespace {

using prof_options::Exclusion;
using prof_options::Requirement;
using View = Options::View;

using Parsed = prof_options::Parsed<Options>;

const std::vector<Exclusion> kExclusions = {
    {{"--all"}, {"-n"}},
    {{"--callers"}, {"--callees"}},
    {{"-t", "--processes"}, {"-g", "--gprof-symbols"}, "files for gprof show everything as one"},
    {{"--module"},
     {"-g", "--gprof-symbols", "--html", "--callgrind", "--pprof", "--speedscope"},
     "of the exports only --csv, --bolt and those for compilers can leave modules out"},
    {{"--function", "--not-function", "--annotate=", "--disassemble"},
     {"-g", "--gprof-symbols", "--html", "--callgrind", "--pprof", "--speedscope", "--llvm-profile", "--gcc-profile",
      "--bolt"},
     "exports are of all functions"},
    {{"--focus", "--ignore", "--callers", "--callees"},
     {"-g", "--gprof-symbols"},
     "files for gprof are of all contexts"},
    {{"--llvm-profile", "--gcc-profile", "--bolt"}, {"-t"}, "blocks are counted of all threads together"},
    {{"--llvm-profile", "--gcc-profile", "--bolt"},
     {"--focus", "--ignore", "--callers", "--callees"},
     "blocks are counted in all contexts"},
    {{"--llvm-profile", "--gcc-profile", "--bolt"}, {"--true", "--trace"}, "they need counts of blocks"},
    {{"--with-source"}, {"-t", "--processes"}, "source is of all threads and processes together"},
    {{"--with-source"}, {"--focus", "--ignore", "--callers", "--callees"}, "source is of all contexts"},
    // Samples are of whole functions, of all threads and processes together, and of what hooks cost they know nothing.
    {{"--true"}, {"-t", "--processes"}, "--true shows everything as one"},
    {{"--true"}, {"--auto"}},
    {{"--true"}, {"--type"}, "times are those of samples"},
    {{"--true"}, {"--libs", "--libs-all", "--libs-only"}, "--true samples libraries as they are"},
    // Basic blocks are not timed, and a trace is of those of the program alone.
    {{"-b"}, {"--trace"}, "a trace has all counts"},
    {{"--trace"}, {"--libs", "--libs-all", "--libs-only"}, "--trace is of the program's own blocks"},
    {{"-b", "--trace"}, {"--true"}},
};

const std::vector<Requirement> kRequirements = {
    {"--check", "--true", "it compares the outputs of two runs"},
    {"--with-source", "--html", "it says what is in that page"},
    {"--gprof-blocks", "-g", "it says what is in that file"},
    {"--keep", "--latency", "other hooks stay in any case"},
};

std::vector<View> views_of(unsigned bits) {
  std::vector<View> views;
  for (int view = int(View::flat); view <= int(View::none); ++view)
    if (bits & bit(View(view))) views.push_back(View(view));
  return views;
}

// Where the command line names no view: the tree if something is said of it that the table has not, none if only files
// are written.
View view_meant(const Options& o, const Parsed& parsed) {
  for (const auto& [option, given] : parsed.options)
    if (!(option->views & bit(View::flat)) && (option->views & bit(View::tree))) return View::tree;
  const std::string files = o.gmon + o.gprof_symbols + o.html + o.callgrind + o.pprof + o.speedscope + o.llvm_profile +
                            o.gcc_profile + o.bolt;
  return files.empty() ? View::flat : View::none;
}

void check_view(const Options& o, const Parsed& parsed) {
  constexpr size_t kFewViews = 5;  // no more are listed
  for (const auto& [option, given] : parsed.options) {
    if (option->views & bit(o.view)) continue;
    std::vector<std::string> names;
    for (const View view : views_of(option->views)) names.emplace_back(name_of(view));
    throw UsageError(
        given.option + " is not supported with " + name_of(o.view) +
        (names.size() > kFewViews ? "; leave it out" : "; it goes with " + prof_options::listed(names, "and")));
  }
  if (o.view == View::modules && (o.order == SortKey::total || o.order == SortKey::per_call))
    throw UsageError("--by-module has no total times; sort it by self, calls or name");
  if (o.order && is_of_durations(*o.order) && o.view != View::latency)
    throw UsageError(std::string("--sort ") + name_of(*o.order) + " goes with --latency");
}

Options parse(int argc, char** argv, const prof_options::Command& command) {
  OptionTable table = kViewOptions;
  for (const OptionTable* more : {&kRunOptions, &kRewritingOptions, &kLastOptions})
    table.insert(table.end(), more->begin(), more->end());
  Options o;
  Parsed parsed = prof_options::parse(table, command, argc, argv, o);
  if (o.help) return o;
  if (o.view_option.empty()) o.view = view_meant(o, parsed);
  if (o.order && o.view == View::tree) o.tree.sort = o.order;
  prof_options::check(parsed, kExclusions, kRequirements);
  check_view(o, parsed);
  o.arguments = std::move(parsed.rest);
  return o;
}

}  // namespace

Options parse_prof_options(int argc, char** argv) { return parse(argc, argv, {"prof", false, kOfProf}); }

Options parse_run_options(int argc, char** argv) {
  Options o = parse(argc, argv, {"prof run", true, kOfRun});
  if (o.view == View::latency && (o.type == "count" || o.type == "sample" || o.type == "adaptive"))
    throw UsageError("--latency goes with --type time, elapsed and cpu, not " + o.type);
  if (o.output.empty() && (o.view == View::folded || o.view == View::csv || o.view == View::dot))
    throw UsageError("standard output is the program's; write --output FILE with --folded, --csv and --dot");
  return o;
}

Options parse_pack_options(int argc, char** argv) {
  Options o;
  o.arguments = prof_options::parse(kPackOptions, {"profld"}, argc, argv, o).rest;
  return o;
}

bool is_of_code(Options::View view) {
  return view == View::annotation || view == View::disassembly || view == View::call_sites;
}

namespace {

const std::vector<std::pair<const char*, const char*>> kTypes = {{"time", "time"},     {"elapsed", "elapsed"},
                                                                 {"cpu", "cpu"},       {"adaptive", "adaptive"},
                                                                 {"sample", "sample"}, {"count", "count"}};

}  // namespace

std::string type_of(const prof_options::Given& given) {
  return prof_options::one_of<const char*>(given, "type", kTypes);
}

std::string type_of_run(const prof_options::Given& given) {
  auto types = kTypes;
  types.emplace_back(kAutoType, kAutoType);
  return prof_options::one_of<const char*>(given, "type", types);
}

SortKey sort_key_of(const prof_options::Given& given) {
  std::vector<std::pair<const char*, SortKey>> keys;
  for (const SortKey key : {SortKey::self, SortKey::total, SortKey::calls, SortKey::per_call, SortKey::name,
                            SortKey::p50, SortKey::p90, SortKey::p99, SortKey::max})
    keys.emplace_back(name_of(key), key);
  return prof_options::one_of<SortKey>(given, "key", keys);
}

}  // namespace prof
