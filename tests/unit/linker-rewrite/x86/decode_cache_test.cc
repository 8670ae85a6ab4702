#include "linker-rewrite/x86/decode_cache.h"

#include <doctest/doctest.h>

#include <random>

#include "linker-rewrite/x86/decoder.h"

using namespace profld;

namespace {

// What compilers write most, and some of what they do not: prefixes, opcodes of one and more bytes, VEX and EVEX.
constexpr uint8_t kFirst[] = {0x48, 0x4c, 0x41, 0x66, 0x67, 0xf2, 0xf3, 0x0f, 0x64, 0x8b, 0x89, 0x8d, 0x81, 0x83,
                              0xc1, 0xe8, 0xeb, 0x74, 0xff, 0xa1, 0xc8, 0xc5, 0xc4, 0x62, 0x8f, 0xb8, 0x68, 0x6a};

Bytes some_instruction(std::mt19937& random) {
  Bytes bytes(ZYDIS_MAX_INSTRUCTION_LENGTH);
  for (uint8_t& b : bytes) b = uint8_t(random());
  bytes[0] = kFirst[random() % std::size(kFirst)];
  // Few values, so that the same instruction comes again with other numbers in it.
  if (random() % 2) bytes[1] = kFirst[random() % std::size(kFirst)];
  for (size_t i = 1; i < 4; ++i) bytes[i] &= 0xcf;
  return bytes;
}

}  // namespace

TEST_CASE("instructions that begin with known bytes are decoded as by the decoder") {
  std::mt19937 random(1);
  DecodeCache cache;
  size_t operations = 0, relative = 0, none = 0;
  for (int i = 0; i < 300000; ++i) {
    const Bytes bytes = some_instruction(random);
    const CachedInsn* cached = cache.find(bytes);
    ZydisDecodedInstruction in;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), bytes.data(), bytes.size(), &in, operands))) {
      REQUIRE(!cached);
      ++none;
      continue;
    }
    REQUIRE(cached);
    REQUIRE(cached->insn.length == in.length);
    REQUIRE(cached->mnemonic == in.mnemonic);
    REQUIRE(cached->prefixes == in.raw.prefix_count);
    REQUIRE(cached->displacement.size * 8 == in.raw.disp.size);
    if (in.raw.disp.size != 0) REQUIRE(cached->displacement.read(bytes.data()) == in.raw.disp.value);
    REQUIRE(cached->immediate.size * 8 == in.raw.imm[0].size);
    if (in.raw.imm[0].size != 0) REQUIRE(cached->immediate.read(bytes.data()) == in.raw.imm[0].value.s);
    REQUIRE(cached->is_relative == bool(in.raw.imm[0].is_relative));
    relative += cached->is_relative;

    REQUIRE(!cache.find(ByteView(bytes).first(in.length - 1u)));
    if (!cached->has_semantics || cached->unusable) continue;
    ++operations;
    const Code code{{OldAddr(0x1000), OldAddr(0x1000 + in.length)}, ByteView(bytes).first(in.length), {}, {}};
    REQUIRE(semantics_of(code, cached->insn) == decoded_semantics_of(code, cached->insn));
  }
  CHECK(operations > 30000);
  CHECK(relative > 1000);
  CHECK(none > 1000);
}

TEST_CASE("a full decode cache changes nothing") {
  std::mt19937 random(2);
  DecodeCache cache;
  for (int i = 0; i < 100000; ++i) {  // more prefixes than there is room for
    Bytes bytes = {0x48, 0x8b, 0x05, 1, 2, 3, 4};
    for (int n = 0; n < 8; ++n) bytes.insert(bytes.begin(), uint8_t(0x26 + 8 * (random() % 4)));
    const CachedInsn* cached = cache.find(bytes);
    REQUIRE(cached);
    REQUIRE(cached->insn.length == bytes.size());
    REQUIRE(cached->insn.rip_relative);
    REQUIRE(cached->displacement.read(bytes.data()) == 0x04030201);
  }
}
