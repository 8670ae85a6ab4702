#include "help.h"

#include "option_table.h"

namespace prof {

namespace {

constexpr prof_options::HelpLayout kLayout = {24};

}  // namespace

std::string help_text() {
  using prof_options::help_of;
  return prof_options::folded(
      "usage: prof [options] [program] [profile ...]\n"
      "       prof run [options] [--] program [argument ...]\n"
      "       prof diff [options] A B\n"
      "       prof compare [options] [--] program [argument ...]\n"
      "       prof top [-Rw] [-i SECONDS] [-n TIMES] [--rows N] [--raw-names] PID\n"
      "       prof tui [options] [program] [profile ...]\n"
      "       prof ctl on|off|reset|status PID\n"
      "       prof gprof [gprof's options] [program [profile ...]]\n"
      "       prof trace [options] -o FILE [--] program [argument ...]\n"
      "       prof itrace [options] trace\n"
      "       prof istat [options] trace\n"
      "\n"
      "Shows where a program that profld rewrote spent its time and what it called, or (prof run) rewrites a "
      "program, runs it, and shows that on standard error. Without a profile: the newest run in the current "
      "directory. Without a program: the one that the profile is of. A profile is a file prof.PID, the PID of a "
      "process, or a folder of such files; or a gmon.out, after its program. prof diff shows what is different "
      "between two of them; prof compare runs a program as it is, profiled, and as gcc -pg built it. prof top shows "
      "what a running program does now, anew every second; prof tui shows a profile to look around in; prof ctl tells "
      "from when to when its calls are "
      "recorded. prof trace writes a trace of the instructions that a program runs, prof itrace prints it, and prof "
      "istat what it adds up to. Each of these has a --help of its own.\n"
      "\n"
      "Times are those on a processor, and what a function waited is apart from them; a program that was run with "
      "another PROFTYPE has other times, see profld(1). A time that is not known to a tenth is shown as the range "
      "that it is in, 0.05-0.12s; ~ marks a percentage that is not known so well; ? marks a figure that cannot be.\n"
      "\n" +
          help_of(kViewOptions, kLayout) +
          "\n"
          "prof run also takes\n" +
          help_of(kRunOptions, kLayout) +
          "\n"
          "and these options of profld:\n" +
          help_of(kRewritingOptions, kLayout) +
          "\n"
          "Environment:\n"
          "  PROFDIR               where profiles are written, and looked for by the number of a process\n"
          "  PROFTYPE, PROFSIZE,\n"
          "  PROFSTART             of the profiled program, see profld(1)\n"
          "  XDG_CACHE_HOME        where rewritten programs are kept (default: ~/.cache)\n"
          "  tabstop               columns of a tab in the tree (default: 4)\n"
          "\n" +
          help_of(kLastOptions, kLayout) +
          "\n"
          "See prof(1).\n",
      kLayout);
}

}  // namespace prof
