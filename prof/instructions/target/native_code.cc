#include "native_code.h"

#include <sys/mman.h>

#include <cstring>

// void prof_target_run_native(NativeFrame* frame, const void* code)
//
// Leaves the frame's address and the code's on the stack, since no register is free for them.
__asm__(
    "  .text\n"
    "  .type prof_target_run_native, @function\n"
    "prof_target_run_native:\n"
    "  push %rbx\n"
    "  push %rbp\n"
    "  push %r12\n"
    "  push %r13\n"
    "  push %r14\n"
    "  push %r15\n"
    "  push %rsi\n"
    "  push %rdi\n"
    "  push 128(%rdi)\n"
    "  popfq\n"
    "  mov (%rdi), %rax\n"
    "  mov 8(%rdi), %rcx\n"
    "  mov 16(%rdi), %rdx\n"
    "  mov 24(%rdi), %rbx\n"
    "  mov 40(%rdi), %rbp\n"
    "  mov 48(%rdi), %rsi\n"
    "  mov 64(%rdi), %r8\n"
    "  mov 72(%rdi), %r9\n"
    "  mov 80(%rdi), %r10\n"
    "  mov 88(%rdi), %r11\n"
    "  mov 96(%rdi), %r12\n"
    "  mov 104(%rdi), %r13\n"
    "  mov 112(%rdi), %r14\n"
    "  mov 120(%rdi), %r15\n"
    "  mov 56(%rdi), %rdi\n"
    "  call *8(%rsp)\n"
    "  xchg %rdi, (%rsp)\n"
    "  mov %rax, (%rdi)\n"
    "  mov %rcx, 8(%rdi)\n"
    "  mov %rdx, 16(%rdi)\n"
    "  mov %rbx, 24(%rdi)\n"
    "  mov %rbp, 40(%rdi)\n"
    "  mov %rsi, 48(%rdi)\n"
    "  mov %r8, 64(%rdi)\n"
    "  mov %r9, 72(%rdi)\n"
    "  mov %r10, 80(%rdi)\n"
    "  mov %r11, 88(%rdi)\n"
    "  mov %r12, 96(%rdi)\n"
    "  mov %r13, 104(%rdi)\n"
    "  mov %r14, 112(%rdi)\n"
    "  mov %r15, 120(%rdi)\n"
    "  pop 56(%rdi)\n"
    "  pushfq\n"
    "  pop 128(%rdi)\n"
    "  add $8, %rsp\n"
    "  pop %r15\n"
    "  pop %r14\n"
    "  pop %r13\n"
    "  pop %r12\n"
    "  pop %rbp\n"
    "  pop %rbx\n"
    "  ret\n"
    "  .size prof_target_run_native, . - prof_target_run_native\n");

extern "C" void prof_target_run_native(prof::target::NativeFrame* frame, const void* code);

namespace prof::target {

namespace {

constexpr size_t kSize = 1 << 20;
constexpr size_t kCode =
    4096;  // where the code begins: away from the operand, or writing that would make the processor look for
           // changed code
constexpr uint8_t kReturn = 0xc3;

static_assert(offsetof(NativeFrame, flags) == 128);

}  // namespace

NativeCode::NativeCode() {
  void* const got = mmap(nullptr, kSize, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got != MAP_FAILED) memory_ = static_cast<uint8_t*>(got);
  clear();
}

NativeCode::~NativeCode() {
  if (memory_) munmap(memory_, kSize);
}

void NativeCode::clear() {
  known_.clear();
  used_ = kCode;
}

// What is the same before the place of its operand is known is the same after that: it is stored as it came, and then as it runs.
const void* NativeCode::add(const NativeBytes& bytes) {
  const std::string_view key(reinterpret_cast<const char*>(bytes.bytes.data()), bytes.size);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const size_t needed = 2 * size_t(bytes.size) + 1;
  if (!memory_ || used_ + needed > kSize) return nullptr;
  uint8_t* const as_it_came = memory_ + used_;
  uint8_t* const code = as_it_came + bytes.size;
  std::memcpy(as_it_came, bytes.bytes.data(), bytes.size);
  std::memcpy(code, bytes.bytes.data(), bytes.size);
  code[bytes.size] = kReturn;
  if (bytes.displacement_at != 0) {
    const auto distance = int32_t(memory_ - (code + bytes.size));
    std::memcpy(code + bytes.displacement_at, &distance, sizeof distance);
  }
  used_ += needed;
  known_.emplace(std::string_view(reinterpret_cast<const char*>(as_it_came), bytes.size), code);
  return code;
}

void NativeCode::run(const void* code, NativeFrame& frame) const { prof_target_run_native(&frame, code); }

}  // namespace prof::target
