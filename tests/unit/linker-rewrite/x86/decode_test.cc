#include "linker-rewrite/x86/decode.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "linker-rewrite/x86/encoding.h"
#include "linker-rewrite/x86/system_calls.h"

using namespace profld;

namespace {

constexpr uint64_t kBase = 0x400000;

// A program that consists of headers and these bytes of code.
Image program(const Bytes& code, OldAddr* start) {
  Bytes file(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
  Elf64_Ehdr e{};
  std::memcpy(e.e_ident, ELFMAG, SELFMAG);
  e.e_ident[EI_CLASS] = ELFCLASS64;
  e.e_ident[EI_DATA] = ELFDATA2LSB;
  e.e_ident[EI_VERSION] = EV_CURRENT;
  e.e_type = ET_EXEC;
  e.e_machine = EM_X86_64;
  e.e_version = EV_CURRENT;
  e.e_phoff = sizeof e;
  e.e_ehsize = sizeof e;
  e.e_phentsize = sizeof(Elf64_Phdr);
  e.e_phnum = 1;
  Elf64_Phdr p{};
  p.p_type = PT_LOAD;
  p.p_flags = PF_R | PF_X;
  p.p_vaddr = kBase;
  p.p_filesz = p.p_memsz = file.size() + code.size();
  p.p_align = 0x1000;
  std::memcpy(file.data(), &e, sizeof e);
  std::memcpy(file.data() + sizeof e, &p, sizeof p);
  *start = OldAddr(kBase + file.size());
  file.insert(file.end(), code.begin(), code.end());
  return Image::from_bytes(std::move(file));
}

std::vector<Flow> flows(const Bytes& bytes) {
  OldAddr start;
  const Image image = program(bytes, &start);
  auto code = decode(image, {start, start + bytes.size()});
  REQUIRE(code);
  std::vector<Flow> out;
  for (const Insn& insn : code->insns) out.push_back(insn.flow);
  return out;
}

}  // namespace

TEST_CASE("what an instruction does with control") {
  using F = std::vector<Flow>;
  CHECK(flows({0xc3}) == F{Flow::ret});
  CHECK(flows({0xc2, 8, 0}) == F{Flow::ret});
  CHECK(flows({0xf3, 0xc3}) == F{Flow::ret});
  CHECK(flows({0xf2, 0xc3}) == F{Flow::ret});
  CHECK(flows({0xe8, 0, 0, 0, 0}) == F{Flow::call});
  CHECK(flows({0xff, 0xd0}) == F{Flow::call_indirect});
  CHECK(flows({0xeb, 0}) == F{Flow::jump});
  CHECK(flows({0x0f, 0x84, 0, 0, 0, 0}) == F{Flow::jump_if});
  CHECK(flows({0xe3, 0}) == F{Flow::jump_if_short});
  CHECK(flows({0xe2, 0}) == F{Flow::jump_if_short});
  CHECK(flows({0x3e, 0xff, 0xe0}) == F{Flow::jump_indirect});
  CHECK(flows({0x0f, 0x0b}) == F{Flow::stop});
  CHECK(flows({0x0f, 0x01, 0xd5}) == F{Flow::next});  // xend is no branch, whatever its category
}

TEST_CASE("targets are addresses, and fields are where they stand") {
  // lea 0x10(%rip), %rax; jne .-9; bnd jmp .
  const Bytes bytes = {0x48, 0x8d, 0x05, 0x10, 0, 0, 0, 0x75, 0xf7, 0xf2, 0xe9, 0xfa, 0xff, 0xff, 0xff};
  OldAddr start;
  const Image image = program(bytes, &start);
  auto code = decode(image, {start, start + bytes.size()});
  REQUIRE(code);
  REQUIRE(code->insns.size() == 3);
  CHECK(bool(code->insns[0].rip_relative));
  CHECK(code->target(code->insns[0]) == (start + 7 + 0x10));
  CHECK(unsigned(code->insns[0].field) == 3);
  CHECK(code->target(code->insns[1]) == start);
  CHECK(unsigned(code->insns[1].field_size) == 1);
  CHECK(code->target(code->insns[2]) == (start + 9));
  CHECK(unsigned(code->insns[2].prefixes) == 1);
  CHECK(code->index(start + 7) == 1);
  CHECK(!code->index(start + 8));
}

TEST_CASE("the instruction at an address, and the one around it") {
  // Of 1 and of 10 bytes: they start, and stand, on both sides of every multiple of 32 and 64.
  for (size_t count = 1; count < 60; ++count) {
    Bytes bytes;
    for (size_t i = 0; i < count; ++i)
      if (i % 3 == 0)
        bytes.push_back(0x90);
      else
        bytes.insert(bytes.end(), {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8});
    OldAddr start;
    const Image image = program(bytes, &start);
    const auto code = decode(image, {start, start + bytes.size()});
    REQUIRE(code);
    REQUIRE(code->insns.size() == count);
    for (size_t i = 0; i < count; ++i) {
      const OldAddr at = code->address(code->insns[i]);
      CHECK(code->index(at) == i);
      for (uint64_t into = 0; into < code->insns[i].length; ++into) {
        CHECK(code->covering(at + into) == i);
        if (into != 0) CHECK(!code->index(at + into));
      }
    }
    CHECK(!code->index(start - 1));
    CHECK(!code->index(start + bytes.size()));
  }
}

TEST_CASE("control may be passed to an instruction after its lock prefix, and nowhere else inside one") {
  const Bytes bytes = {0x90, 0xf0, 0x48, 0x0f, 0xb1, 0x0f};  // nop; lock cmpxchg %rcx, (%rdi)
  OldAddr start;
  const Image image = program(bytes, &start);
  auto code = decode(image, {start, start + bytes.size()});
  REQUIRE(code);
  CHECK(code->is_target(start + 1));
  CHECK(code->is_target(start + 2));
  CHECK(!code->is_target(start + 4));
  CHECK(!code->is_target(start + 6));
}

TEST_CASE("what is no instruction is refused with its address") {
  OldAddr start;
  const Image image = program({0x90, 0x06}, &start);
  const auto code = decode(image, {start, start + 2});
  REQUIRE(!code);
  CHECK(code.error() == Reason(ReasonCode::no_instruction, start + 1));
}

TEST_CASE("the number of a system call is known only if all ways there load it") {
  const auto number = [](const Bytes& bytes) {
    OldAddr start;
    const Image image = program(bytes, &start);
    const auto code = decode(image, {start, start + bytes.size()});
    REQUIRE(code);
    const auto call =
        std::ranges::find_if(code->insns, [&](const Insn& i) { return is_system_call(code->bytes_of(i)); });
    return system_call_number(*code, size_t(call - code->insns.begin()));
  };
  CHECK(number({0xb8, 1, 0, 0, 0, 0x89, 0xf7, 0x0f, 0x05}) == 1);      // mov $1, %eax; mov %esi, %edi; syscall
  CHECK(number({0x31, 0xc0, 0x0f, 0x05}) == 0);                        // xor %eax, %eax; syscall
  CHECK(number({0x31, 0xc0, 0xb0, 56, 0x0f, 0x05}) == 56);             // xor %eax, %eax; mov $56, %al; syscall
  CHECK(number({0xb8, 0, 1, 0, 0, 0xb0, 56, 0x0f, 0x05}) == -1);       // mov $256, %eax; mov $56, %al; syscall
  CHECK(number({0xb8, 1, 0, 0, 0, 0x89, 0xf8, 0x0f, 0x05}) == -1);     // mov $1, %eax; mov %edi, %eax; syscall
  CHECK(number({0xb8, 1, 0, 0, 0, 0xff, 0xd2, 0x0f, 0x05}) == -1);     // mov $1, %eax; call *%rdx; syscall
  CHECK(number({0xeb, 5, 0xb8, 1, 0, 0, 0, 0x90, 0x0f, 0x05}) == -1);  // jmp 1f; mov $1, %eax; 1: nop; syscall
}
