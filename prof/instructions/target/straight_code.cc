#include "straight_code.h"

#include <cstring>

namespace prof::target {

namespace {

constexpr uint64_t kLongest = 15;  // bytes of an instruction
constexpr size_t kMaxPieces = 8;   // of a stretch
constexpr uint32_t kMaxInstructions = 4096;

unsigned byte_at(std::string_view code, size_t at) { return at < code.size() ? uint8_t(code[at]) : 0; }

bool is_prefix(unsigned byte) {
  switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
      return true;
    default:
      return byte >= 0x40 && byte <= 0x4f;  // REX
  }
}

size_t prefixes(std::string_view code) {
  size_t n = 0;
  while (n < code.size() && is_prefix(byte_at(code, n))) ++n;
  return n;
}

// Where a direct jump or call goes, by its bytes and its address.
std::optional<uint64_t> direct_target(std::string_view code, uint64_t address) {
  const size_t n = prefixes(code);
  const unsigned opcode = byte_at(code, n);
  for (size_t i = 0; i < n; ++i) {
    if (byte_at(code, i) == 0x66) return std::nullopt;  // processors do not agree on its size
  }
  if (opcode == 0xeb && n + 2 <= code.size()) return address + n + 2 + uint64_t(int64_t(int8_t(code[n + 1])));
  if ((opcode != 0xe8 && opcode != 0xe9) || n + 5 > code.size()) return std::nullopt;
  int32_t distance = 0;
  std::memcpy(&distance, code.data() + n + 1, sizeof distance);
  return address + n + 5 + uint64_t(int64_t(distance));
}

}  // namespace

bool passes_control(std::string_view code) {
  const size_t n = prefixes(code);
  const unsigned opcode = byte_at(code, n), second = byte_at(code, n + 1);
  if (opcode >= 0x70 && opcode <= 0x7f) return true;  // jcc
  switch (opcode) {
    case 0x8e:  // mov to a segment register: the next instruction may run in the same step
    case 0x9d:  // popf: may set the trap flag
    case 0xc2:
    case 0xc3:  // ret
    case 0xc7:  // xbegin
    case 0xca:
    case 0xcb:
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
    case 0xe0:
    case 0xe1:
    case 0xe2:
    case 0xe3:  // loop, jrcxz
    case 0xe8:
    case 0xe9:
    case 0xea:
    case 0xeb:
    case 0xf1:
    case 0xf4:
      return opcode != 0xc7 || second == 0xf8;
    case 0xff:
      return (second >> 3 & 7) >= 2 && (second >> 3 & 7) <= 5;  // call and jump
    case 0x0f:
      return (second >= 0x80 && second <= 0x8f) || second == 0x01 || second == 0x05 || second == 0x07 ||
             second == 0x0b || second == 0x34 || second == 0x35 || second == 0xaa || second == 0xb9 || second == 0xff;
    default:
      return code.empty();
  }
}

bool loads_stack_segment(std::string_view code) {
  const size_t n = prefixes(code);
  return byte_at(code, n) == 0x8e && (byte_at(code, n + 1) >> 3 & 7) == 2;
}

bool is_int1(std::string_view code) { return byte_at(code, prefixes(code)) == 0xf1; }

bool pushes_flags(std::string_view code) { return byte_at(code, prefixes(code)) == 0x9c; }

bool pops_flags(std::string_view code) {
  const unsigned opcode = byte_at(code, prefixes(code));
  return opcode == 0x9d || opcode == 0xcf;
}

bool is_repeated(std::string_view code) {
  const size_t n = prefixes(code);
  bool has_prefix = false;
  for (size_t i = 0; i < n; ++i) has_prefix |= byte_at(code, i) == 0xf2 || byte_at(code, i) == 0xf3;
  const unsigned opcode = byte_at(code, n);
  return has_prefix && ((opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf) ||
                        (opcode >= 0x6c && opcode <= 0x6f));
}

void StraightCode::learn(uint64_t address, std::string_view code, uint64_t next) {
  if (instructions_.contains(address)) return;
  Instruction made;
  if (passes_control(code)) {
    made.next = direct_target(code, address);
    if (made.next && *made.next != next) return;  // it was not this one that ran
    made.code = code.substr(0, prefixes(code) + (byte_at(code, prefixes(code)) == 0xeb ? 2 : 5));
  } else {
    if (next <= address || next - address > kLongest || next - address > code.size()) return;
    made.next = next;
    made.code = code.substr(0, size_t(next - address));
  }
  if (!made.next) return;
  instructions_.emplace(address, std::move(made));
  stretches_.clear();  // some may be longer now
}

// Adds what lies one after the other from `at` on; `at` then is where control goes on. False if nothing does.
bool StraightCode::add_piece(Stretch& to, uint64_t& at) const {
  Piece piece;
  piece.start = at;
  for (auto found = instructions_.find(at); found != instructions_.end(); found = instructions_.find(at)) {
    const Instruction& instruction = found->second;
    ++piece.instructions;
    piece.bytes += instruction.code;
    const bool goes_on = *instruction.next == at + instruction.code.size();
    at = *instruction.next;
    if (!goes_on || piece.instructions == kMaxInstructions) break;
  }
  if (piece.instructions == 0) return false;
  to.pieces.push_back(std::move(piece));
  return true;
}

const StraightCode::Stretch* StraightCode::find(uint64_t start) {
  const auto [found, is_new] = stretches_.try_emplace(start);
  Stretch& stretch = found->second;
  if (is_new) {
    stretch.end = start;
    while (stretch.pieces.size() < kMaxPieces) {
      uint64_t at = stretch.end;
      if (!add_piece(stretch, at)) break;
      // An address that comes twice would not tell how far control has come.
      const Piece& last = stretch.pieces.back();
      bool comes_twice = at >= last.start && at < last.start + last.bytes.size();
      for (size_t i = 0; i + 1 < stretch.pieces.size(); ++i) {
        const Piece& piece = stretch.pieces[i];
        const uint64_t end = piece.start + piece.bytes.size(), last_end = last.start + last.bytes.size();
        comes_twice |= (last.start < end && piece.start < last_end) || (at >= piece.start && at < end);
      }
      if (comes_twice) {
        stretch.pieces.pop_back();
        break;
      }
      stretch.end = at;
    }
  }
  uint64_t all = 0;
  for (const Piece& piece : stretch.pieces) all += piece.instructions;
  return all < 2 ? nullptr : &stretch;
}

std::optional<uint64_t> StraightCode::instructions_before(const Stretch& stretch, uint64_t address) const {
  uint64_t n = 0;
  for (const Piece& piece : stretch.pieces) {
    uint64_t at = piece.start;
    for (uint32_t i = 0; i < piece.instructions; ++i, ++n) {
      if (at == address) return n;
      const auto found = instructions_.find(at);
      if (found == instructions_.end()) return std::nullopt;
      at += found->second.code.size();
    }
  }
  return address == stretch.end ? std::optional<uint64_t>(n) : std::nullopt;
}

void StraightCode::forget() {
  instructions_.clear();
  stretches_.clear();
}

}  // namespace prof::target
