#include "system_calls.h"

#include <algorithm>
#include <cstring>

namespace prof::remote {

namespace {

// How much memory an argument points to.
enum class Size : uint8_t {
  fixed,     // `value` bytes
  argument,  // as many as argument `value` says
  units,     // as many times `unit` bytes as argument `value` says
  bits,      // so many bits, in words of 8 bytes
  result,    // as many times `unit` bytes as the call returns
  string,    // up to a zero
  list,      // of as many buffers as argument `value` says: a struct iovec each
  message    // a struct msghdr with such a list
};

struct Memory {
  uint16_t number;  // of the call
  uint8_t argument;
  char direction;  // r: the kernel reads it; w: it writes it; b: both
  Size size;
  uint16_t value = 0;
  uint16_t unit = 1;
};

constexpr uint16_t kStat = 144, kTime = 16, kItimer = 32, kRusage = 144;

// Sorted by number. From arch/x86/entry/syscalls/syscall_64.tbl of the kernel, and the manual pages of section 2.
constexpr Memory kMemory[] = {
    {0, 1, 'w', Size::result},           // read
    {1, 1, 'r', Size::result},           // write
    {2, 0, 'r', Size::string},           // open
    {4, 0, 'r', Size::string},           // stat
    {4, 1, 'w', Size::fixed, kStat},     //
    {5, 1, 'w', Size::fixed, kStat},     // fstat
    {6, 0, 'r', Size::string},           // lstat
    {6, 1, 'w', Size::fixed, kStat},     //
    {7, 0, 'b', Size::units, 1, 8},      // poll
    {13, 1, 'r', Size::fixed, 32},       // rt_sigaction
    {13, 2, 'w', Size::fixed, 32},       //
    {14, 1, 'r', Size::argument, 3},     // rt_sigprocmask
    {14, 2, 'w', Size::argument, 3},     //
    {17, 1, 'w', Size::result},          // pread64
    {18, 1, 'r', Size::result},          // pwrite64
    {19, 1, 'w', Size::list, 2},         // readv
    {20, 1, 'r', Size::list, 2},         // writev
    {21, 0, 'r', Size::string},          // access
    {22, 0, 'w', Size::fixed, 8},        // pipe
    {23, 1, 'b', Size::bits, 0},         // select
    {23, 2, 'b', Size::bits, 0},         //
    {23, 3, 'b', Size::bits, 0},         //
    {23, 4, 'b', Size::fixed, kTime},    //
    {35, 0, 'r', Size::fixed, kTime},    // nanosleep
    {36, 1, 'w', Size::fixed, kItimer},  // getitimer
    {38, 1, 'r', Size::fixed, kItimer},  // setitimer
    {38, 2, 'w', Size::fixed, kItimer},  //
    {42, 1, 'r', Size::argument, 2},     // connect
    {44, 1, 'r', Size::result},          // sendto
    {44, 4, 'r', Size::argument, 5},     //
    {45, 1, 'w', Size::result},          // recvfrom
    {46, 1, 'r', Size::message},         // sendmsg
    {47, 1, 'w', Size::message},         // recvmsg
    {49, 1, 'r', Size::argument, 2},     // bind
    {53, 3, 'w', Size::fixed, 8},        // socketpair
    {54, 3, 'r', Size::argument, 4},     // setsockopt
    {59, 0, 'r', Size::string},          // execve
    {61, 1, 'w', Size::fixed, 4},        // wait4
    {61, 3, 'w', Size::fixed, kRusage},  //
    {63, 0, 'w', Size::fixed, 390},      // uname
    {76, 0, 'r', Size::string},          // truncate
    {79, 0, 'w', Size::result},          // getcwd
    {80, 0, 'r', Size::string},          // chdir
    {82, 0, 'r', Size::string},          // rename
    {82, 1, 'r', Size::string},          //
    {83, 0, 'r', Size::string},          // mkdir
    {84, 0, 'r', Size::string},          // rmdir
    {85, 0, 'r', Size::string},          // creat
    {86, 0, 'r', Size::string},          // link
    {86, 1, 'r', Size::string},          //
    {87, 0, 'r', Size::string},          // unlink
    {88, 0, 'r', Size::string},          // symlink
    {88, 1, 'r', Size::string},          //
    {89, 0, 'r', Size::string},          // readlink
    {89, 1, 'w', Size::result},          //
    {90, 0, 'r', Size::string},          // chmod
    {92, 0, 'r', Size::string},          // chown
    {94, 0, 'r', Size::string},          // lchown
    {96, 0, 'w', Size::fixed, kTime},    // gettimeofday
    {96, 1, 'w', Size::fixed, 8},        //
    {97, 1, 'w', Size::fixed, 16},       // getrlimit
    {98, 1, 'w', Size::fixed, kRusage},  // getrusage
    {99, 0, 'w', Size::fixed, 112},      // sysinfo
    {100, 0, 'w', Size::fixed, 32},      // times
    {127, 0, 'w', Size::argument, 1},    // rt_sigpending
    {128, 0, 'r', Size::argument, 3},    // rt_sigtimedwait
    {128, 1, 'w', Size::fixed, 128},     //
    {128, 2, 'r', Size::fixed, kTime},   //
    {130, 0, 'r', Size::argument, 1},    // rt_sigsuspend
    {131, 0, 'r', Size::fixed, 24},      // sigaltstack
    {131, 1, 'w', Size::fixed, 24},      //
    {137, 0, 'r', Size::string},         // statfs
    {137, 1, 'w', Size::fixed, 120},     //
    {138, 1, 'w', Size::fixed, 120},     // fstatfs
    {160, 1, 'r', Size::fixed, 16},      // setrlimit
    {201, 0, 'w', Size::fixed, 8},       // time
    {202, 0, 'b', Size::fixed, 4},       // futex
    {203, 2, 'r', Size::argument, 1},    // sched_setaffinity
    {204, 2, 'w', Size::result},         // sched_getaffinity
    {217, 1, 'w', Size::result},         // getdents64
    {228, 1, 'w', Size::fixed, kTime},   // clock_gettime
    {229, 1, 'w', Size::fixed, kTime},   // clock_getres
    {230, 2, 'r', Size::fixed, kTime},   // clock_nanosleep
    {232, 1, 'w', Size::result, 0, 12},  // epoll_wait
    {233, 3, 'r', Size::fixed, 12},      // epoll_ctl
    {257, 1, 'r', Size::string},         // openat
    {258, 1, 'r', Size::string},         // mkdirat
    {262, 1, 'r', Size::string},         // newfstatat
    {262, 2, 'w', Size::fixed, kStat},   //
    {263, 1, 'r', Size::string},         // unlinkat
    {264, 1, 'r', Size::string},         // renameat
    {264, 3, 'r', Size::string},         //
    {267, 1, 'r', Size::string},         // readlinkat
    {267, 2, 'w', Size::result},         //
    {269, 1, 'r', Size::string},         // faccessat
    {271, 0, 'b', Size::units, 1, 8},    // ppoll
    {271, 2, 'r', Size::fixed, kTime},   //
    {281, 1, 'w', Size::result, 0, 12},  // epoll_pwait
    {293, 0, 'w', Size::fixed, 8},       // pipe2
    {295, 1, 'w', Size::list, 2},        // preadv
    {296, 1, 'r', Size::list, 2},        // pwritev
    {302, 2, 'r', Size::fixed, 16},      // prlimit64
    {302, 3, 'w', Size::fixed, 16},      //
    {316, 1, 'r', Size::string},         // renameat2
    {316, 3, 'r', Size::string},         //
    {318, 0, 'w', Size::result},         // getrandom
    {327, 1, 'w', Size::list, 2},        // preadv2
    {328, 1, 'r', Size::list, 2},        // pwritev2
    {332, 1, 'r', Size::string},         // statx
    {332, 4, 'w', Size::fixed, 256},     //
    {435, 0, 'r', Size::argument, 1},    // clone3
    {437, 1, 'r', Size::string},         // openat2
    {437, 2, 'r', Size::argument, 3},    //
    {439, 1, 'r', Size::string},         // faccessat2
};

constexpr RegisterNumber kArguments[] = {
    reg_rdi, reg_rsi, reg_rdx, RegisterNumber(reg_r8 + 2), reg_r8, RegisterNumber(reg_r8 + 1)};
constexpr size_t kLongestString = 4096;  // PATH_MAX
constexpr uint64_t kMaxBuffers = 1024;   // UIO_MAXIOV
constexpr uint64_t kMaxErrors = 4095;    // results from -4095 to -1 are errors

// What the kernel has for a call that a signal interrupted, before the program sees it (include/linux/errno.h), and
// that then.
constexpr uint64_t kFirstRestart = uint64_t(-516), kLastRestart = uint64_t(-512), kInterrupted = uint64_t(-4);

uint64_t word_at(std::string_view bytes, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

}  // namespace

SystemCall::SystemCall(const Registers& before, const MemorySource& memory) : number_(before[reg_rax]) {
  for (const Memory& m : kMemory) {
    if (m.number != number_) continue;
    const uint64_t address = before[kArguments[m.argument]];
    if (address == 0) continue;
    const auto argument = [&](unsigned i) { return before[kArguments[i]]; };
    Range range = {address, 0, m.direction != 'r'};
    switch (m.size) {
      case Size::fixed:
        range.size = m.value;
        break;
      case Size::argument:
        range.size = argument(m.value);
        break;
      case Size::units:
        range.size = argument(m.value) * m.unit;
        break;
      case Size::bits:
        range.size = (argument(m.value) + 63) / 64 * 8;
        break;
      case Size::result:
        range.unit = m.unit;
        break;
      case Size::string: {
        const std::string text = memory(address, kLongestString);
        range.size = std::min(text.size(), text.find('\0')) + (text.find('\0') != std::string::npos ? 1 : 0);
        break;
      }
      case Size::list:
        add_list(address, argument(m.value), m.direction == 'w', memory);
        continue;
      case Size::message: {
        constexpr size_t kMessage = 56, kList = 16, kCount = 24;  // struct msghdr: its size, msg_iov and msg_iovlen
        const std::string header = memory(address, kMessage);
        ranges_.push_back({address, kMessage, false});
        if (header.size() == kMessage)
          add_list(word_at(header, kList), word_at(header, kCount), m.direction == 'w', memory);
        continue;
      }
    }
    if (m.direction == 'b') {
      Range read = range;
      read.is_write = false;
      ranges_.push_back(read);
    }
    ranges_.push_back(range);
  }
}

void SystemCall::add_list(uint64_t address, uint64_t count, bool is_write, const MemorySource& memory) {
  constexpr size_t kEntry = 16;  // struct iovec
  const std::string list = memory(address, size_t(std::min(count, kMaxBuffers)) * kEntry);
  ranges_.push_back({address, list.size(), false});
  for (size_t at = 0; at + kEntry <= list.size(); at += kEntry) {
    Range range = {word_at(list, at), word_at(list, at + 8), is_write};
    range.is_in_list = true;
    ranges_.push_back(range);
  }
}

std::vector<uint64_t> SystemCall::event(uint64_t result) const {
  if (result >= kFirstRestart && result <= kLastRestart) result = kInterrupted;
  std::vector<uint64_t> values = {number_, result};
  const bool has_failed = result > ~kMaxErrors;
  uint64_t rest = has_failed ? 0 : result;  // of what fills the buffers of a list
  for (const Range& range : ranges_) {
    if (has_failed && range.is_write) continue;  // it may have written a part of it: that is not told
    uint64_t size = range.size;
    if (range.unit != 0) size = has_failed ? 0 : result * range.unit;
    if (range.is_in_list) {
      size = std::min(size, rest);
      rest -= size;
    }
    if (size == 0) continue;
    values.push_back(range.address);
    values.push_back(size);
    values.push_back(range.is_write ? 1 : 0);
  }
  return values;
}

}  // namespace prof::remote
