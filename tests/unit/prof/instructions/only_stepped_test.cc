// After which system calls proftarget runs no instructions in a program's stead any more.

#include "prof/instructions/target/only_stepped.h"

#include <doctest/doctest.h>
#include <linux/io_uring.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>

namespace {

constexpr std::string_view kSystemCall = "\x0f\x05";

bool is_beyond(uint64_t number, uint64_t first = 0, uint64_t second = 0, bool has_others = false) {
  user_regs_struct before = {};
  before.rax = number;
  before.rdi = first;
  before.rsi = second;
  return prof::target::is_beyond_running(getpid(), before, kSystemCall, has_others);
}

}  // namespace

TEST_CASE("calls after which proftarget only steps a program") {
  CHECK(is_beyond(SYS_pkey_alloc));
  CHECK(is_beyond(SYS_userfaultfd));
  CHECK(is_beyond(SYS_perf_event_open));
  CHECK(is_beyond(SYS_vfork, 0, 0, true));
  CHECK(is_beyond(SYS_clone, CLONE_VM));
  CHECK_FALSE(is_beyond(SYS_vfork));
  CHECK_FALSE(is_beyond(SYS_clone, CLONE_VM | CLONE_THREAD));
  CHECK_FALSE(is_beyond(SYS_mmap));

  // The kernel reads 32 bits of the number; one of them means another table.
  CHECK(is_beyond(SYS_pkey_alloc | uint64_t(1) << 32));
  CHECK(is_beyond(SYS_getpid | 0x40000000));
}

TEST_CASE("rings that the kernel reads and writes in private memory are beyond proftarget") {
  io_uring_params how = {};
  const auto at = uint64_t(&how);
  CHECK_FALSE(is_beyond(SYS_io_uring_setup, 8, at));
  how.flags = 1 << 14;  // IORING_SETUP_NO_MMAP
  CHECK(is_beyond(SYS_io_uring_setup, 8, at));
  CHECK_FALSE(is_beyond(SYS_io_uring_setup, 8, 0));

  CHECK_FALSE(is_beyond(SYS_io_uring_register, 3, 0));
  CHECK(is_beyond(SYS_io_uring_register, 3, 22));  // IORING_REGISTER_PBUF_RING
}

TEST_CASE("other ways into the kernel than syscall are beyond proftarget") {
  const user_regs_struct before = {};
  for (const std::string_view code : {"\xcd\x80", "\x0f\x34", "\x66\x0f\x05", "\x48\xcd\x80"})
    CHECK(prof::target::is_beyond_running(getpid(), before, code, false));
  CHECK_FALSE(prof::target::is_beyond_running(getpid(), before, "\x48\x89\xc3", false));
}
