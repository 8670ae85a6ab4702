// Follows addresses inside a function: those that it names, those that it gets as arguments, and its return address.

#ifndef LINKER_REWRITE_DECIDE_POINTER_FLOW_H
#define LINKER_REWRITE_DECIDE_POINTER_FLOW_H

#include <array>
#include <optional>
#include <vector>

#include "linker-rewrite/program/fragments.h"

namespace profld {

// The registers that hold a function's first arguments, and those of a system call, by their numbers.
inline constexpr std::array<uint8_t, 6> kArgumentRegisters{7, 6, 2, 1, 8, 9}, kSystemCallRegisters{7, 6, 2, 10, 8, 9};

// One of the addresses that are followed: below kArguments an argument, else kArguments + an index in
// Followed::addresses.
using FollowedAddress = uint32_t;
inline constexpr FollowedAddress kArguments = 6;

// In Followed::addresses: stands for the return address. No instruction names it.
inline constexpr OldAddr kReturnAddress{UINT64_MAX};

struct AddressUse {
  enum class How : uint8_t {
    accessed,          // the bytes there, or near it, are read or written
    remapped,          // a system call changes what may be done with the pages around it
    passed,            // it is argument `argument` of a call (or jump) to `callee`
    bounded,           // `other` is compared with it or subtracted, or passed together with it; both are no arguments
    compared,          // with something that is not followed, or subtracted from it
    ordered,           // its order to another value is asked for, or its distance from one
    ordered_to_named,  // the same, of an address that an instruction names
    kept,              // the whole of it may be in a place that is not followed: in memory, in the caller or a callee
  };
  FollowedAddress address = 0;
  How how{};
  enum class Asked : uint8_t { equality, order, distance } asked{};  // compared: what is asked of the two
  bool through_pointer = false;  // `callee` is a word that holds the address of the function
  uint8_t argument = 0;
  FollowedAddress other = 0;
  // How many bytes from the address on are used, at least. For `accessed`: the bytes that the instruction itself needs.
  // For `passed`: the greatest number that is passed together with it.
  uint64_t extent = 0;
  OldAddr at;  // of the instruction
  OldAddr callee;
  auto operator<=>(const AddressUse&) const = default;
};

// What is looked for.
struct Followed {
  std::vector<OldAddr> addresses;  // ascending
  uint8_t arguments = 0;           // a bit for each, the first is bit 0
  bool where_kept = false;         // AddressUse::How::kept; else all the others but those of notes_order
  bool notes_order = false;        // AddressUse::How::ordered and ordered_to_named, besides the others
  // Only the blocks that an address may come to are looked at, which is quick. There may be too many uses (a value that
  // is only sometimes made from an address is taken for it) and AddressUse::extent may be too small. Not together with
  // where_kept.
  bool quickly = false;
};

// The words that the dynamic linker fills in and the program cannot write to: most of the global offset table.
OldRange words_of_linker(const Image& image);
// The address in this file that such a word, `where`, will hold; nullopt if it is in another file, or no such word.
std::optional<OldAddr> address_in_word(const Image& image, OldRange words, OldAddr where);

// The uses in the code of `group`; sorted, none twice. An address plus or minus something that is no address still
// counts as that address; the result of any other arithmetic does not.
std::vector<AddressUse> follow_addresses(const Program& program, const Group& group, const Followed& followed);

}  // namespace profld

#endif
