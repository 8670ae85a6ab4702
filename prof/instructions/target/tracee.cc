#include "tracee.h"

#include <cpuid.h>
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "prof/read/error.h"

namespace prof::target {

namespace {

constexpr uint64_t kPage = 4096;

[[gnu::noipa]] void run_into_breakpoint() {}

// Runs in the child: waits until it is traced, and becomes the program.
[[noreturn]] void become(const std::vector<std::string>& arguments, int go, int failed) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  char byte = 0;
  if (read(go, &byte, 1) == 1) execvp(argv[0], argv.data());
  const int error = errno;
  if (write(failed, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

struct Pipe {
  Pipe() {
    if (pipe2(static_cast<int*>(ends), O_CLOEXEC) != 0)
      throw Error("the program cannot be started: " + system_error(errno));
  }
  Pipe(const Pipe&) = delete;
  ~Pipe() {
    close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
  }
  int ends[2] = {-1, -1};
};

// Where the kernel puts the parts of the extended state, by CPUID; 0 if the processor does not have them.
struct StateLayout {
  size_t high_halves = 0, masks = 0, high_quarters = 0, high_vectors = 0;
};

StateLayout layout_of_state() {
  const auto offset_of = [](unsigned part) -> size_t {
    unsigned size = 0, offset = 0, unused = 0, more = 0;
    if (!__get_cpuid_count(0xd, part, &size, &offset, &unused, &more)) return 0;
    return size ? offset : 0;
  };
  return {offset_of(2), offset_of(5), offset_of(6), offset_of(7)};
}

void copy_part(const std::string& from, size_t at, uint8_t* to, size_t size) {
  if (at + size <= from.size()) std::memcpy(to, from.data() + at, size);
}

}  // namespace

pid_t start_program(const std::vector<std::string>& arguments) {
  Pipe go, failed;
  const pid_t child = fork();
  if (child < 0) throw Error("fork: " + system_error(errno));
  if (child == 0) become(arguments, go.ends[0], failed.ends[1]);
  close(failed.ends[1]);
  failed.ends[1] = -1;
  const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                       PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXEC;
  if (ptrace(PTRACE_SEIZE, child, nullptr, options) != 0) {
    const int error = errno;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    throw Error(arguments[0] + ": cannot be traced: " + system_error(error));
  }
  if (write(go.ends[1], "g", 1) != 1) throw Error(arguments[0] + ": cannot be started: " + system_error(errno));
  int status = 0;
  while (waitpid(child, &status, __WALL) == child && !WIFEXITED(status) && !WIFSIGNALED(status)) {
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8)) return child;
    ptrace(PTRACE_CONT, child, nullptr, 0L);  // nothing else is expected, and nothing else matters yet
  }
  int error = ESRCH;
  if (read(failed.ends[0], &error, sizeof error) != sizeof error) error = ESRCH;
  throw Error(arguments[0] + ": " + system_error(error));
}

bool set_debug_register(pid_t thread, size_t number, uint64_t value) {
  return ptrace(PTRACE_POKEUSER, thread, offsetof(user, u_debugreg) + number * sizeof(long), value) == 0;
}

// A child runs into one, or past it.
bool has_breakpoints() {
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    run_into_breakpoint();
    _exit(0);
  }
  int status = 0;
  bool stops = false;
  if (waitpid(child, &status, __WALL) == child && WIFSTOPPED(status) &&
      set_debug_register(child, kFirstBreakpoint, reinterpret_cast<uint64_t>(&run_into_breakpoint)) &&
      set_debug_register(child, kBreakpointControl, kFirstEnabled) && ptrace(PTRACE_CONT, child, nullptr, 0L) == 0 &&
      waitpid(child, &status, __WALL) == child)
    stops = WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  if (!WIFEXITED(status) && !WIFSIGNALED(status)) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, __WALL);
  }
  return stops;
}

void stay_on_one_processor() {
  const int processor = sched_getcpu();
  if (processor < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(size_t(processor), &set);
  sched_setaffinity(0, sizeof set, &set);
}

bool get_registers(pid_t thread, user_regs_struct& to) { return ptrace(PTRACE_GETREGS, thread, nullptr, &to) == 0; }

bool set_registers(pid_t thread, const user_regs_struct& from) {
  user_regs_struct copy = from;
  return ptrace(PTRACE_SETREGS, thread, nullptr, &copy) == 0;
}

remote::Registers registers_of(const user_regs_struct& from) {
  remote::Registers to = {from.rax, from.rbx, from.rcx, from.rdx, from.rsi, from.rdi, from.rbp, from.rsp, from.r8,
                          from.r9,  from.r10, from.r11, from.r12, from.r13, from.r14, from.r15, from.rip};
  to[remote::reg_flags] = from.eflags & remote::kDirectionFlag;
  to[remote::reg_fs_base] = from.fs_base;
  to[remote::reg_gs_base] = from.gs_base;
  return to;
}

remote::VectorRegisters vectors_of(pid_t thread) {
  static const StateLayout layout = layout_of_state();
  constexpr size_t kLowHalves = 160, kMax = 16384;  // the xmm registers stand in the part that fxsave has
  std::string state(kMax, '\0');
  iovec area = {state.data(), state.size()};
  remote::VectorRegisters to;
  if (ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &area) != 0) return to;
  state.resize(area.iov_len);
  for (size_t i = 0; i < 16; ++i) {
    copy_part(state, kLowHalves + i * 16, to.vectors[i].data(), 16);
    if (layout.high_halves) copy_part(state, layout.high_halves + i * 16, to.vectors[i].data() + 16, 16);
    if (layout.high_quarters) copy_part(state, layout.high_quarters + i * 32, to.vectors[i].data() + 32, 32);
    if (layout.high_vectors) copy_part(state, layout.high_vectors + i * 64, to.vectors[16 + i].data(), 64);
  }
  for (size_t i = 0; layout.masks && i < to.masks.size(); ++i)
    copy_part(state, layout.masks + i * 8, reinterpret_cast<uint8_t*>(&to.masks[i]), 8);
  return to;
}

std::string read_memory(pid_t thread, uint64_t address, size_t size) {
  std::string bytes(size, '\0');
  size_t got = 0;
  while (got < size) {  // page by page: the next one may not be there
    const uint64_t at = address + got;
    const size_t piece = std::min<size_t>(size - got, kPage - at % kPage);
    iovec here = {bytes.data() + got, piece}, there = {reinterpret_cast<void*>(at), piece};
    if (process_vm_readv(thread, &here, 1, &there, 1, 0) != ssize_t(piece)) break;
    got += piece;
  }
  bytes.resize(got);
  return bytes;
}

bool write_memory(pid_t thread, uint64_t address, std::string_view bytes) {
  const std::string path = "/proc/" + std::to_string(thread) + "/mem";
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool is_written = pwrite(file, bytes.data(), bytes.size(), off_t(address)) == ssize_t(bytes.size());
  close(file);
  return is_written;
}

size_t read_code(pid_t thread, uint64_t address, char (&to)[remote::kLongestInstruction]) {
  const size_t in_page = size_t(kPage - address % kPage);
  iovec here = {static_cast<char*>(to), sizeof to};
  iovec there[2] = {{reinterpret_cast<void*>(address), std::min(in_page, sizeof to)}};
  if (in_page < sizeof to) there[1] = {reinterpret_cast<void*>(address + in_page), sizeof to - in_page};
  const ssize_t n = process_vm_readv(thread, &here, 1, static_cast<iovec*>(there), in_page < sizeof to ? 2 : 1, 0);
  if (n > 0) return size_t(n);
  // Code that may be run and not be read.
  size_t got = 0;
  for (; got < sizeof to; got += sizeof(long)) {
    errno = 0;
    const long word = ptrace(PTRACE_PEEKTEXT, thread, address + got, nullptr);
    if (errno != 0) break;
    std::memcpy(&to[got], &word, std::min(sizeof word, sizeof to - got));
  }
  return std::min(got, sizeof to);
}

bool may_need_vectors(std::string_view code) {
  size_t i = 0;
  const auto byte = [&](size_t at) { return at < code.size() ? unsigned(uint8_t(code[at])) : 0u; };
  while (byte(i) == 0x64 || byte(i) == 0x65 || byte(i) == 0x66 || byte(i) == 0x67) ++i;
  const unsigned first = byte(i);
  if (first == 0x62) return (byte(i + 3) & 7) != 0;  // EVEX with a mask
  if (first == 0xc5) return byte(i + 2) == 0xf7;     // vmaskmovdqu
  if (first == 0xc4 && (byte(i + 1) & 0x1f) == 1) return byte(i + 3) == 0xf7;
  if (first == 0xc4 && (byte(i + 1) & 0x1f) == 2) {
    const unsigned opcode = byte(i + 3);
    return (opcode >= 0x2c && opcode <= 0x2f) || opcode == 0x8c || opcode == 0x8e || (opcode >= 0x90 && opcode <= 0x93);
  }
  if (first >= 0x40 && first <= 0x4f) ++i;  // REX
  return byte(i) == 0x0f && byte(i + 1) == 0xf7;
}

std::string file_of_process(pid_t process, const char* name) {
  const int file = open(("/proc/" + std::to_string(process) + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  if (file < 0) return text;
  char buffer[16384];
  for (ssize_t n; (n = read(file, static_cast<char*>(buffer), sizeof buffer)) > 0;)
    text.append(static_cast<const char*>(buffer), size_t(n));
  close(file);
  return text;
}

pid_t process_of(pid_t thread) {
  const std::string status = file_of_process(thread, "status");
  const size_t at = status.find("\nTgid:");
  return at == std::string::npos ? 0 : pid_t(std::strtol(status.c_str() + at + 6, nullptr, 10));
}

}  // namespace prof::target
