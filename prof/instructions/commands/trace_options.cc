#include "trace_options.h"

#include <getopt.h>

#include "prof/commands/options/message.h"
#include "prof/commands/options/option_values.h"

namespace prof {

namespace {

constexpr char kHelp[] =
    "usage: prof trace [options] -o FILE [--] program [argument ...]\n"
    "       prof trace [options] -o FILE --target HOST:PORT\n"
    "\n"
    "Runs a program instruction by instruction, and writes to FILE which ones ran,\n"
    "and which memory they read and wrote. prof itrace and prof istat read FILE. The\n"
    "program is stepped by proftarget, which prof trace starts, or which waits on\n"
    "another machine; or by gdbserver. It runs hundreds of times slower than it does\n"
    "by itself.\n"
    "\n"
    "  -o, --output FILE      write the trace to FILE\n"
    "  --target HOST:PORT     the program is that of a proftarget that waits there\n"
    "  --gdbserver[=HOST:PORT]\n"
    "                         step by gdbserver: one started here, or waiting there\n"
    "  --buffer SIZE          proftarget sends SIZE bytes of steps at a time, from 1K\n"
    "                         to 1M (default: 64K); 0: each step by itself\n"
    "  --blocks               run what always runs as a whole at once; several times\n"
    "                         faster, but without the memory that is read and written\n"
    "  --step-each            stop the program behind each instruction; without it\n"
    "                         proftarget runs most of them in its stead, many times\n"
    "                         faster\n"
    "  --follow-forks         step processes that the program makes, too\n"
    "  --no-pin               do not keep program and proftarget on one processor\n"
    "  --limit SIZE           end the trace, not the program, before FILE has more\n"
    "                         bytes, as 500M or 4G\n"
    "  -h, --help             print this\n"
    "\n"
    "See prof-trace(1).\n";

enum LongOption {
  option_target = 256,
  option_gdbserver,
  option_buffer,
  option_blocks,
  option_step_each,
  option_forks,
  option_no_pin,
  option_limit
};

const option kWords[] = {{"output", required_argument, nullptr, 'o'},
                         {"target", required_argument, nullptr, option_target},
                         {"gdbserver", optional_argument, nullptr, option_gdbserver},
                         {"buffer", required_argument, nullptr, option_buffer},
                         {"blocks", no_argument, nullptr, option_blocks},
                         {"step-each", no_argument, nullptr, option_step_each},
                         {"follow-forks", no_argument, nullptr, option_forks},
                         {"no-pin", no_argument, nullptr, option_no_pin},
                         {"limit", required_argument, nullptr, option_limit},
                         {"help", no_argument, nullptr, 'h'},
                         {nullptr, 0, nullptr, 0}};

constexpr uint64_t kLeastBuffer = 1024, kMostBuffer = 1 << 20;

uint64_t parse_buffer(const std::string& text) {
  if (text == "0") return 0;
  const uint64_t size = parse_size("--buffer", text);
  if (size < kLeastBuffer || size > kMostBuffer)
    throw UsageError("--buffer " + text + ": is neither 0 nor from 1K to 1M");
  return size;
}

void check(const StepOptions& o) {
  if (o.by_gdbserver && o.by_blocks) throw UsageError("--blocks is nothing that gdbserver can do");
  if (o.output.empty()) throw UsageError("-o FILE says where the trace goes; see prof trace --help");
  if (o.program.empty() && o.address.empty()) throw UsageError("no program; see prof trace --help");
  if (!o.program.empty() && !o.address.empty() && !o.by_gdbserver)
    throw UsageError("--target: proftarget has been told its program; see proftarget(1)");
}

}  // namespace

std::string trace_help_text() { return kHelp; }

StepOptions parse_trace_options(int argc, char** argv) {
  StepOptions o;
  opterr = 0;
  optind = 0;  // glibc: start anew
  // '+': what follows the program belongs to the program.
  for (int c; (c = getopt_long(argc, argv, "+:o:h", static_cast<const option*>(kWords), nullptr)) != -1;) {
    const std::string argument = optarg ? optarg : "";
    switch (c) {
      case 'o':
        o.output = file_name("-o", argument);
        break;
      case option_target:
        o.by_gdbserver = false;
        o.address = argument;
        break;
      case option_gdbserver:
        o.by_gdbserver = true;
        o.address = argument;
        break;
      case option_buffer:
        o.buffer = parse_buffer(argument);
        break;
      case option_blocks:
        o.by_blocks = true;
        break;
      case option_step_each:
        o.steps_each = true;
        break;
      case option_forks:
        o.follows_forks = true;
        break;
      case option_no_pin:
        o.pins = false;
        break;
      case option_limit:
        o.limit = parse_size("--limit", argument);
        break;
      case 'h':
        o.help = true;
        return o;
      case ':':
        throw UsageError(std::string(argv[optind - 1]) + " needs an argument; see prof trace --help");
      default:
        throw UsageError(std::string(argv[optind - 1]) + ": no such option; see prof trace --help");
    }
  }
  o.program.assign(argv + optind, argv + argc);
  check(o);
  return o;
}

}  // namespace prof
