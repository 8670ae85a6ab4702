#include "prof/instructions/remote/step_recorder.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

using namespace prof::remote;

namespace {

// rax = 0x1000, rbx = 0x2000 and so on; the instruction is at 0x400000.
Registers made_registers() {
  Registers r = {};
  for (size_t i = 0; i < reg_rip; ++i) r[i] = (i + 1) * 0x1000;
  r[reg_rip] = 0x400000;
  r[reg_fs_base] = 0x70000000;
  return r;
}

// Each access as "address+size", after it w if it is a store.
std::string accesses(const std::string& code, Registers registers = made_registers(),
                     const VectorRegisters& vectors = {}) {
  const DecodedInstruction instruction = decode_memory(code);
  CHECK(instruction.length == code.size());
  std::vector<prof::TraceAccess> all;
  memory_accesses(instruction, registers, &vectors, all);
  std::string text;
  for (const prof::TraceAccess& a : all) {
    char one[64];
    std::snprintf(one, sizeof one, "%s%llx+%u%s%s%s", text.empty() ? "" : " ",
                  static_cast<unsigned long long>(a.address), a.size, a.is_write ? "w" : "", a.is_repeated ? "r" : "",
                  a.is_down ? "d" : "");
    text += one;
  }
  return text;
}

std::string bytes(std::initializer_list<int> list) {
  std::string text;
  for (const int b : list) text.push_back(char(b));
  return text;
}

}  // namespace

TEST_CASE("memory accesses: the stack") {
  CHECK(accesses("\x50") == "7ff8+8w");                     // push rax
  CHECK(accesses("\x58") == "8000+8");                      // pop rax
  CHECK(accesses("\xff\x30") == "1000+8 7ff8+8w");          // push [rax]
  CHECK(accesses("\x8f\x44\x24\x08") == "8000+8 8010+8w");  // pop [rsp+8]: with the new stack pointer
  CHECK(accesses(bytes({0xe8, 0, 0, 0, 0})) == "7ff8+8w");  // call
  CHECK(accesses("\xff\x50\x08") == "1008+8 7ff8+8w");      // call [rax+8]
  CHECK(accesses("\xc3") == "8000+8");                      // ret
  CHECK(accesses("\xc9") == "7000+8");                      // leave
  CHECK(accesses("\x66\x50") == "7ffe+2w");                 // push ax
}

TEST_CASE("memory accesses: addresses") {
  CHECK(accesses("\x48\x8b\x44\x98\x10") == "9010+8");                                 // mov rax, [rax+rbx*4+16]
  CHECK(accesses(bytes({0x48, 0x8b, 5, 0x10, 0, 0, 0})) == "400017+8");                // mov rax, [rip+16]
  CHECK(accesses(bytes({0x64, 0x48, 0x8b, 4, 0x25, 0x28, 0, 0, 0})) == "70000028+8");  // mov rax, fs:[40]
  CHECK(accesses("\x48\x01\x18") == "1000+8 1000+8w");                                 // add [rax], rbx: load and store
  CHECK(accesses(bytes({0x48, 0x8d, 0})) == "");                                       // lea
  CHECK(accesses(bytes({0x0f, 0x1f, 0x44, 0, 0})) == "");                              // nop
  CHECK(accesses("\x0f\x18\x08") == "");                                               // prefetch
  CHECK(accesses("\xd7") == "2000+1");                                                 // xlat: al is 0
  CHECK(accesses("\x0f\xb1\x10") == "1000+4 1000+4w");                                 // cmpxchg [rax], edx
  Registers r = made_registers();
  r[reg_rcx] = uint64_t(-1);
  CHECK(accesses("\x48\x0f\xa3\x08", r) == "ff8+8");  // bt [rax], rcx: the word before
  r[reg_rax] = 0x1234567800001000;
  CHECK(accesses(bytes({0x67, 0x8b, 0}), r) == "1000+4");  // mov eax, [eax]
}

TEST_CASE("memory accesses: rep") {
  CHECK(accesses("\xf3\xa4") == "5000+1r 6000+1wr");
  Registers r = made_registers();
  r[reg_flags] = kDirectionFlag;
  CHECK(accesses("\xf3\x48\xab", r) == "6000+8wrd");
  r[reg_rcx] = uint64_t(1) << 32;
  CHECK(accesses("\x67\xf3\xaa", r).empty());  // with short addresses ecx counts
  r[reg_rcx] = 0;
  CHECK(accesses("\xf3\xa4", r) == "");
}

TEST_CASE("memory accesses: elements that a vector or a mask chooses") {
  VectorRegisters v;
  for (const size_t i : {0u, 2u, 3u}) v.vectors[2][i * 4 + 3] = 0x80;
  for (size_t i = 0; i < 8; ++i) v.vectors[1][i * 4] = uint8_t(i * 0x10);
  v.vectors[1][3 * 4 + 3] = 0x80;  // an index below 0
  v.masks[1] = 0b1011;
  CHECK(accesses(bytes({0xc4, 0xe2, 0x6d, 0x92, 0x04, 0x88}), made_registers(),
                 v) ==  // vgatherdps ymm0, [rax+ymm1*4], ymm2
        "1000+4 1080+4 fffffffe000010c0+4");
  CHECK(accesses(bytes({0xc4, 0xe2, 0x6d, 0x8e, 0x00}), made_registers(), v) ==
        "1000+4w 1008+8w");                                                            // vpmaskmovd [rax], ymm2
  CHECK(accesses(bytes({0x62, 0xf1, 0x7f, 0x29, 0x7f, 0x00}), made_registers(), v) ==  // vmovdqu8 [rax]{k1}, ymm0
        "1000+2w 1003+1w");
  CHECK(accesses(bytes({0x62, 0xf2, 0x7d, 0x49, 0x8b, 0x00}), made_registers(), v) ==
        "1000+12w");  // vpcompressd [rax]{k1}
  CHECK(accesses(bytes({0x62, 0xf1, 0x74, 0x59, 0x58, 0x00}), made_registers(), v) == "1000+4");  // vaddps, one for all
  CHECK(accesses(bytes({0x62, 0xf1, 0x74, 0x59, 0x58, 0x00})) == "");  // of which it takes none
}

TEST_CASE("memory accesses: what is no instruction") {
  CHECK(decode_memory("").length == 0);
  CHECK(decode_memory("\x06").length == 0);
  CHECK(decode_memory("\x48").length == 0);
  CHECK(decode_memory("\x8e\xd0").holds_off_trap);
  CHECK(decode_memory("\x0f\x05").is_system_call);
}
