// every_instruction [--full-windows] PROGRAM [ARG...]: single-steps PROGRAM between two breakpoint instructions that it executes itself
// (in main or below), and before each instruction of its own, and of libprof's, unwinds its stack with elfutils' libdw,
// as perf and eu-stack do. What comes out must be the calls that were seen: nothing that the unwinder looks at is used
// to know them. In a loop it is the same again and again: where an instruction has had the same callers, at the same places
// on the stack, twice before, it is not looked at once more. With --full-windows, each record of a trace finds its window full when it is written for the first time, so
// that the code for that is stepped through, too. Prints the number of instructions, and exits with 1 after the first few that
// an unwinder cannot unwind.
//
// With -DBY_PROF it is prof's own unwinder that is tried, as for the chains of samples (prof/unwind/chain.h): what comes out
// are the places of the calls.
//
// A call is seen by what it does: rsp is 8 less, and there lies the address of the next instruction. It is over when
// rsp is above that.

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "../programs/one_processor.h"
#ifdef BY_PROF
#include <sys/uio.h>

#include <cctype>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "prof/unwind/chain.h"
#endif

namespace {

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "every_instruction: %s\n", what.c_str());
  std::exit(2);
}

// What a function must keep, by DWARF's numbers: rbx, rbp, r12 to r15.
constexpr unsigned kKept[] = {3, 6, 12, 13, 14, 15};
using Kept = std::array<uint64_t, std::size(kKept)>;

struct Frame {
  uint64_t pc;
  uint64_t stack_pointer;
  Kept kept;
  bool operator==(const Frame&) const = default;
};

struct Call {
  uint64_t slot;
  Frame caller;  // as it will be when the call returns
};

Kept kept(const user_regs_struct& r) { return {r.rbx, r.rbp, r.r12, r.r13, r.r14, r.r15}; }

class Tracer {
 public:
  Tracer(char** command, bool full_windows) : full_windows_(full_windows) {
    stay_on_one_processor();
    pid_ = fork();
    if (pid_ == 0) {
      ptrace(PTRACE_TRACEME, 0, 0, 0);
      execvp(command[0], command);
      _exit(127);
    }
    resume(PTRACE_CONT, false);  // exec
    while (resume(PTRACE_CONT, true) != SIGTRAP) {
    }
    begin_unwinding();
    outer_ = unwind();
    if (outer_.empty()) die("cannot unwind at the first breakpoint");
  }

  // The number of instructions that could not be unwound.
  int run() {
    int wrong = 0;
    user_regs_struct before = registers();
    for (;;) {
      const uint64_t next = word(before.rip) & 0xff;
      if (next == 0xcc) break;
      if (is_watched(before.rip)) {
        ++instructions_;
        if (!check(before) && ++wrong == 5) break;
      }
      const bool compares = full_windows_ && compares_with_limit(before.rip) && full_.insert(before.rip).second;
      const int signal = resume(PTRACE_SINGLESTEP, true);
      user_regs_struct now = registers();
      if (compares) {
        now.eflags &= ~1ull;  // the carry: it is below the limit
        if (ptrace(PTRACE_SETREGS, pid_, 0, &now) != 0) die("registers");
      }
      while (!calls_.empty() && calls_.back().slot < now.rsp) calls_.pop_back();
      if (now.rsp == before.rsp - 8 && now.rip != before.rip) {
        const uint64_t pushed = word(now.rsp);
        if (pushed - before.rip >= 2 && pushed - before.rip <= 8 && now.rip != pushed)
          calls_.push_back({now.rsp, {pushed, before.rsp, kept(before)}});
      }
      if (signal != SIGTRAP) pending_ = signal;
      before = now;
    }
    return wrong;
  }

  unsigned long instructions() const { return instructions_; }

  void finish() { kill(pid_, SIGKILL); }

 private:
  // Goes on until the next stop; the signal that stopped it.
  int resume(__ptrace_request how, bool must_live) {
    if (started_ && ptrace(how, pid_, 0, pending_) != 0) die("ptrace");
    started_ = true;
    pending_ = 0;
    int status;
    if (waitpid(pid_, &status, 0) != pid_) die("waitpid");
    if (!WIFSTOPPED(status)) {
      if (must_live) die("the program ended before its last breakpoint");
      die("the program cannot be executed");
    }
    if (WSTOPSIG(status) != SIGTRAP) pending_ = WSTOPSIG(status);
    return WSTOPSIG(status);
  }

  user_regs_struct registers() const {
    user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, pid_, 0, &r) != 0) die("registers");
    return r;
  }
  uint64_t word(uint64_t at) const {
    errno = 0;
    return uint64_t(ptrace(PTRACE_PEEKDATA, pid_, at, 0));
  }

  // cmp %gs:limit(%rip), %register
  bool compares_with_limit(uint64_t rip) const {
    const uint64_t w = word(rip);
    return (w & 0xff) == 0x65 && (w >> 8 & 0xfb) == 0x48 && (w >> 16 & 0xff) == 0x3b && (w >> 24 & 0xc7) == 0x05;
  }

  void begin_unwinding() {
    static const Dwfl_Callbacks callbacks = {dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr, nullptr};
    dwfl_ = dwfl_begin(&callbacks);
    if (!dwfl_ || dwfl_linux_proc_report(dwfl_, pid_) != 0 || dwfl_report_end(dwfl_, nullptr, nullptr) != 0 ||
        dwfl_linux_proc_attach(dwfl_, pid_, true) != 0)
      die(dwfl_errmsg(-1));
    watched_.push_back(dwfl_addrmodule(dwfl_, registers().rip));
    dwfl_getmodules(
        dwfl_,
        [](Dwfl_Module* m, void**, const char* name, Dwarf_Addr, void* watched) {
          if (std::strstr(name, "libprof.so")) static_cast<std::vector<Dwfl_Module*>*>(watched)->push_back(m);
          return int(DWARF_CB_OK);
        },
        &watched_, 0);
  }
  // In the program or libprof, and with a name: a static program's linkage stubs have none, and no unwind tables
  // either.
  bool is_watched(uint64_t pc) {
    const auto [known, is_new] = is_watched_.try_emplace(pc);
    if (is_new) {
      Dwfl_Module* m = dwfl_addrmodule(dwfl_, pc);
      known->second = std::ranges::find(watched_, m) != watched_.end() && dwfl_module_addrname(m, pc);
    }
    return known->second;
  }

#ifdef BY_PROF
  // What perf would have of the thread, followed in the files that it has mapped.
  std::vector<Frame> unwind() {
    const user_regs_struct r = registers();
    prof::ThreadState state;
    state.registers = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp,
                       r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
    state.pc = r.rip;
    std::string stack(32 << 10, '\0');
    // By pages: what is beyond the last one that is there is not copied.
    std::vector<iovec> pages;
    for (uint64_t at = r.rsp, end = at + stack.size(); at < end; at = pages.back().iov_len + at)
      pages.push_back({reinterpret_cast<void*>(at), std::min(end, (at | 0xfff) + 1) - at});
    const iovec to = {stack.data(), stack.size()};
    const ssize_t got = process_vm_readv(pid_, &to, 1, pages.data(), pages.size(), 0);
    state.stack = {r.rsp, std::string_view(stack).substr(0, size_t(std::max<ssize_t>(got, 0)))};
    std::vector<prof::FramePlace> places;
    const prof::ChainEnd end = prof::chain_of(
        state, [&](uint64_t pc) { return code_at(pc); }, places);
    std::vector<Frame> chain;
    for (const prof::FramePlace& place : places) {
      const Mapping& m = mappings_[place.module];
      chain.push_back({place.offset - m.offset + m.start + !chain.empty(), 0, {}});
    }
    if (end != prof::ChainEnd::whole) chain.push_back({uint64_t(end), 0, {}});
    return chain;
  }

  struct Mapping {
    uint64_t start, end, offset;
    std::shared_ptr<prof::UnwindTable> table;  // null: of no file
  };
  std::vector<Mapping> mappings_;

  std::optional<prof::FoundCode> code_at(uint64_t pc) {
    for (const bool is_to_be_read : {false, true}) {
      if (is_to_be_read) read_mappings();
      for (uint32_t i = 0; i < mappings_.size(); ++i)
        if (const Mapping& m = mappings_[i]; pc >= m.start && pc < m.end)
          return prof::FoundCode{{i, pc - m.start + m.offset}, m.table.get()};
    }
    return {};
  }

  void read_mappings() {
    mappings_.clear();
    std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
    for (std::string line; std::getline(maps, line);) {
      std::istringstream in(line);
      Mapping m = {};
      char dash;
      std::string rights, device, inode, path;
      in >> std::hex >> m.start >> dash >> m.end >> rights >> m.offset >> device >> inode >> path;
      if (rights.find('x') == std::string::npos) continue;
      if (path.starts_with('/') || path == "[vdso]") m.table = std::make_shared<prof::UnwindTable>(path);
      mappings_.push_back(std::move(m));
    }
  }
#else
  std::vector<Frame> unwind() const {
    std::vector<Frame> chain;
    dwfl_getthread_frames(
        dwfl_, pid_,
        [](Dwfl_Frame* frame, void* out) {
          auto& frames = *static_cast<std::vector<Frame>*>(out);
          Frame f = {};
          if (!dwfl_frame_pc(frame, &f.pc, nullptr)) return int(DWARF_CB_ABORT);
          dwfl_frame_reg(frame, 7, &f.stack_pointer);
          // A register that the tables do not mention has the value that it has in the function called.
          for (size_t i = 0; i < std::size(kKept); ++i)
            if (dwfl_frame_reg(frame, kKept[i], &f.kept[i]) != 0 && !frames.empty()) f.kept[i] = frames.back().kept[i];
          frames.push_back(f);
          return int(DWARF_CB_OK);
        },
        &chain);
    return chain;
  }
#endif

  std::string name(uint64_t pc) const {
    Dwfl_Module* m = dwfl_addrmodule(dwfl_, pc);
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* n = m ? dwfl_module_addrinfo(m, pc, &offset, &symbol, nullptr, nullptr, nullptr) : nullptr;
    char text[300];
    std::snprintf(text, sizeof text, "%#" PRIx64 " <%s+%#" PRIx64 ">", pc, n ? n : "?", uint64_t(offset));
    return text;
  }

  // Whether these addresses and stack pointers, since the first breakpoint, were seen often enough.
  bool is_known(const std::vector<Frame>& chain) {
    constexpr unsigned kOften = 2;
    std::vector<uint64_t> places;
    for (const Frame& f : chain) places.insert(places.end(), {f.pc, f.stack_pointer});
    return ++seen_[std::move(places)] > kOften;
  }

  bool check(const user_regs_struct& now) {
    std::vector<Frame> expected{{now.rip, now.rsp, kept(now)}};
    for (size_t i = calls_.size(); i-- > 0;) expected.push_back(calls_[i].caller);
    if (is_known(expected)) return true;
    expected.insert(expected.end(), outer_.begin() + 1, outer_.end());
#ifdef BY_PROF
    for (Frame& f : expected) f = {f.pc, 0, {}};
#endif
    const std::vector<Frame> got = unwind();
    if (got == expected) return true;
#ifdef BY_PROF
    if (ends_on_private_stack(got, expected)) return true;
#endif
    std::printf("at %s:\n", name(now.rip).c_str());
    for (size_t i = 0; i < std::max(got.size(), expected.size()); ++i)
      std::printf("  %s  should be  %s\n", i < got.size() ? text(got[i]).c_str() : "-",
                  i < expected.size() ? text(expected[i]).c_str() : "-");
    return false;
  }

#ifdef BY_PROF
  // What runs on a stack of the runtime's own is followed up to where that begins: a sample has no more of the stack.
  bool ends_on_private_stack(const std::vector<Frame>& got, const std::vector<Frame>& expected) const {
    const size_t found = got.size() - std::min<size_t>(got.size(), 1);
    return found > 0 && found < expected.size() && got.back().pc == uint64_t(prof::ChainEnd::other_stack) &&
           std::equal(got.begin(), got.begin() + ptrdiff_t(found), expected.begin()) &&
           name(expected[found - 1].pc).find("<run_on_stack") != std::string::npos &&
           name(expected[found].pc).find("run_heavy") != std::string::npos;
  }
#endif

  std::string text(const Frame& f) const {
    std::string t = name(f.pc);
    char number[40];
    for (uint64_t r : {f.stack_pointer, f.kept[0], f.kept[1], f.kept[2], f.kept[3], f.kept[4], f.kept[5]}) {
      std::snprintf(number, sizeof number, " %" PRIx64, r);
      t += number;
    }
    return t;
  }

  pid_t pid_;
  bool started_ = false;
  int pending_ = 0;  // a signal to be delivered
  Dwfl* dwfl_ = nullptr;
  std::vector<Dwfl_Module*> watched_;
  std::unordered_map<uint64_t, bool> is_watched_;   // answers, by address
  std::vector<Frame> outer_;                        // at the first breakpoint: what calls what
  std::vector<Call> calls_;                         // since
  std::map<std::vector<uint64_t>, unsigned> seen_;  // how often
  unsigned long instructions_ = 0;
  const bool full_windows_;
  std::set<uint64_t> full_;  // comparisons that were made to say so
};

}  // namespace

int main(int argc, char** argv) {
  const bool full_windows = argc > 1 && std::strcmp(argv[1], "--full-windows") == 0;
  if (argc < 2 + full_windows) die("usage: every_instruction [--full-windows] program [arg...]");
  Tracer tracer(argv + 1 + full_windows, full_windows);
  const int wrong = tracer.run();
  std::printf("%lu\n", tracer.instructions());
  tracer.finish();
  return wrong != 0;
}
