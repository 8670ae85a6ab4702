#include "help.h"

namespace prof {

namespace {

constexpr size_t kColumns = 80, kTextColumn = 24;  // of a line; where what is said of an option begins

// The same text with lines that are too long broken at blanks. What is said of an option stays in its column.
std::string folded_lines(const std::string& text) {
  std::string result;
  for (size_t start = 0; start < text.size();) {
    const size_t end = text.find('\n', start);
    std::string line = text.substr(start, end - start);
    start = end + 1;
    const size_t indent = line.starts_with("  ") ? kTextColumn : 0;
    while (line.size() > kColumns) {
      const size_t blank = line.rfind(' ', kColumns);
      if (blank == std::string::npos || blank <= indent) break;  // one long word
      result += line.substr(0, blank) + "\n";
      line = std::string(indent, ' ') + line.substr(blank + 1);
    }
    result += line + "\n";
  }
  return result;
}

}  // namespace

std::string help_text() {
  return folded_lines(
      "usage: prof [options] [program] [profile ...]\n"
      "       prof run [options] [--] program [argument ...]\n"
      "       prof diff [options] A B\n"
      "       prof compare [options] [--] program [argument ...]\n"
      "       prof top [-Rw] [-i SECONDS] [-n TIMES] [--rows N] [--raw-names] PID\n"
      "       prof ctl on|off|reset|status PID\n"
      "       prof gprof [gprof's options] [program [profile ...]]\n"
      "       prof trace [options] -o FILE [--] program [argument ...]\n"
      "       prof itrace [options] trace\n"
      "       prof istat [options] trace\n"
      "\n"
      "Shows where a program that profld rewrote spent its time and what it called, or (prof run) rewrites a "
      "program, runs it, and shows that on standard error. Without a profile: the newest run in the current "
      "directory. Without a program: the one that the profile is of. A profile is a file prof.PID, the PID of a "
      "process, or a folder of such files; or a gmon.out, behind its program. prof diff shows what is different "
      "between two of them; prof compare runs a program as it is, profiled, and as gcc -pg built it. prof top shows "
      "what a running program does now, anew every second; prof ctl tells from when to when its calls are "
      "recorded. prof trace writes a trace of the instructions that a program runs, prof itrace prints it, and prof "
      "istat what it adds up to. Each of these has a --help of its own.\n"
      "\n"
      "Times are those on a processor, and what a function waited is apart from them; a program that was run with "
      "another PROFTYPE has other times, see profld(1). A time that is not known to a tenth is shown as the range "
      "that it is in, 0.05-0.12s; ~ marks a percentage that is not known so well; ? marks a figure that cannot be.\n"
      "\n"
      "  -d                    the tree of calls, not the table of functions\n"
      "  -r                    do not cut recursion off in the tree\n"
      "  -s                    sort the tree by time, not by order of first call\n"
      "  --sort KEY            the table, the siblings in the tree, or JSON by self, total, calls, per-call or name\n"
      "  -n, --rows N          the first N rows of the table\n"
      "  --percent P           only what has at least P percent, in the table and the tree\n"
      "  --depth N             only N levels of the tree\n"
      "  --chains              chains of calls in the tree on one line\n"
      "  --all                 everything on a terminal, too, where else there are 25 rows, and a shortened tree\n"
      "  --callers GLOB        the tree from these functions to who called them (repeatable)\n"
      "  --callees GLOB        the tree from these functions on (repeatable)\n"
      "  --focus GLOB          only contexts through these functions (repeatable)\n"
      "  --ignore GLOB         no contexts through these functions (repeatable)\n"
      "  --no-header           the table without the lines above it\n"
      "  -R                    raw times: do not subtract what the profiling itself cost\n"
      "  -t                    each thread apart\n"
      "  --processes           each process apart; without a profile: all those of the newest run here\n"
      "  -p PID                only the profiles of this process\n"
      "  --by-module           a table with a line for each module: the program, and each library\n"
      "  --module GLOB         only functions of modules whose names match (repeatable)\n"
      "  --function GLOB       only functions whose names match, as std::sort or 'parse_*' (repeatable)\n"
      "  --not-function GLOB   not functions whose names match (repeatable)\n"
      "  --json                everything as JSON\n"
      "  -G                    gprof's report: flat profile, call graph and index, with measured times of calls\n"
      "  --propagated          with -G: these times as gprof computes them, from the number of calls\n"
      "  --fallacy             the calls whose times gprof would get most wrong\n"
      "  --suggest             options of profld that leave out functions not worth timing\n"
      "  --annotate[=GLOB]     source with how often each line ran: files of functions whose names match, or all\n"
      "  --disassemble GLOB    the instructions of functions whose names match, with how often each ran\n"
      "  --call-sites          from which lines functions were called, and how often\n"
      "  -g FILE               write gmon.out for gprof to FILE\n"
      "  --gprof-blocks        with -g: counts of basic blocks in FILE itself, for gprof -l, not in FILE.blocks\n"
      "  --gprof-symbols FILE  write names for gprof -S to FILE, for stripped programs\n"
      "  -w, --wide            write names out: neither simplify nor cut them\n"
      "  --raw-names           do not demangle names\n"
      "  --inlined             below each function, what was inlined into it; needs debug information\n"
      "  --debug-dir DIR       look for debug files of stripped programs in DIR, too (repeatable)\n"
      "  --true FILE           take times from the samples that prof run --true left in FILE\n"
      "\n"
      "prof run also takes\n"
      "  --type TYPE           what is measured: time, elapsed, cpu, adaptive, sample or count; see profld(1)\n"
      "  --dir DIR             leave the profiles of all processes in DIR; prof DIR shows them together\n"
      "  --cache-size SIZE     keep rewritten programs below SIZE, as 500M or 4G (the default)\n"
      "  --true                run the program twice: sampled as it is, for true times, and counted\n"
      "  --check               with --true: compare the outputs of both runs\n"
      "  --libs[=GLOB]         profile shared libraries as well: all, or those whose names match (repeatable)\n"
      "  --libs-all            the same, with their functions that are too small to time\n"
      "  --libs-only[=GLOB]    the same without the program's own functions\n"
      "  --auto                a counting run first, without output; then leave out functions not worth timing\n"
      "\n"
      "and these options of profld:\n"
      "  -F GLOB               profile only functions whose names match (repeatable)\n"
      "  -N GLOB               do not profile functions whose names match (repeatable)\n"
      "  --min-size BYTES      profile only functions of at least BYTES of code\n"
      "  --no-leaves           profile only functions that call others\n"
      "  --discover            profile also functions that no symbol or unwind table names\n"
      "  -b, --blocks          count how often each basic block ran, too, for --annotate and --disassemble\n"
      "  --trace[=memory]      write down which basic blocks run, one after the other, for prof istat and prof "
      "itrace;\n"
      "                        with =memory also which memory they read and write\n"
      "  --no-imports          do not profile the functions of libraries that they call\n"
      "  --report FILE         write a report of the rewriting to FILE\n"
      "\n"
      "Environment:\n"
      "  PROFDIR               where profiles are written, and looked for by the number of a process\n"
      "  PROFTYPE, PROFSIZE,\n"
      "  PROFSTART             of the profiled program, see profld(1)\n"
      "  XDG_CACHE_HOME        where rewritten programs are kept (default: ~/.cache)\n"
      "  tabstop               columns of a tab in the tree (default: 4)\n"
      "\n"
      "  -h, --help            print this\n"
      "  -V, --version         print the version\n"
      "\n"
      "See prof(1).\n");
}

std::string top_help_text() {
  return "usage: prof top [-Rw] [-i SECONDS] [-n TIMES] [--rows N] [--raw-names]\n"
         "                PID|PROFILE\n"
         "\n"
         "Shows which functions a running program is in, anew every second: those of the\n"
         "last second, by time.\n"
         "\n"
         "  -i SECONDS    the time between two tables (default: 1)\n"
         "  -n TIMES      end after so many tables\n"
         "  --rows N      at most so many functions in each\n"
         "  -R            raw times: do not subtract what the profiling itself cost\n"
         "  -w, --wide    write names out: neither simplify nor cut them\n"
         "  --raw-names   do not demangle names\n"
         "  -h, --help    print this\n"
         "\n"
         "See prof(1).\n";
}

std::string control_help_text() {
  return "usage: prof ctl on|off|reset|status PID|PROFILE\n"
         "\n"
         "Tells from when to when the calls of a running program are recorded.\n"
         "\n"
         "  on      record from now on\n"
         "  off     record no more\n"
         "  reset   forget what was recorded\n"
         "  status  say whether recording is on\n"
         "\n"
         "See prof(1).\n";
}

}  // namespace prof
