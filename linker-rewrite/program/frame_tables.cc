// OCaml's collector has to find every value that frames on the stack hold. It goes from frame to frame by return
// address: for each there is a FRAME DESCRIPTOR, which says how large the frame is in which the call stands, and where
// in it values are live. Backtraces find the lines of the source in the same way. Return addresses of copies are
// others, so the descriptors have to name them.
//
// A call of the original has one copy, and in the original of a function that moved no call is made any more. So each
// descriptor gets the return address of the copy in place of its own. Nothing is added, and all else that leads from
// descriptors to lines and names stays as it is. The run-time system makes a hash table of the descriptors when the
// program starts, so they need no order either.
//
// Where they are. Each module of the program has a table, caml<Module>__frametable; caml_frametable is a list of the
// tables that ends with 0. Both are exported, so that stripped programs have them, too: plugins (.cmxs) and programs
// that load them need that. A library that is a plugin has its own tables and no list.
//
// The format (OCaml 4.11 to 4.14, runtime/caml/stack.h and emit_frames in asmcomp/emitaux.ml): a word with the number
// of descriptors, then these, each at a multiple of 8:
//
//     8 bytes  return address          2 bytes each  where a value is live
//     2 bytes  size of the frame       flag 2: a byte with the number of allocations, and a byte for each
//     2 bytes  number of live values   flag 1: at a multiple of 4, 4 bytes for the line, or for each allocation if
//                                      flag 2
//
// The flags are the low bits of the size. The size 0xffff alone means that C called OCaml there; nothing follows then.
// OCaml 5 has other descriptors, and stacks that grow by being copied: it is refused.

#include "frame_tables.h"

#include <optional>

#include "linker-rewrite/base/refusal.h"

namespace profld {

namespace {

constexpr uint64_t kWord = 8;
constexpr uint16_t kCalledFromC = 0xffff, kHasLines = 1, kHasAllocations = 2;
constexpr uint64_t kSmallestDescriptor = 16;  // bytes

[[noreturn]] void refuse() { throw refusal(Refusal::ocaml_program); }

class FrameTableReader {
 public:
  explicit FrameTableReader(const Image& image) : image_(image) {
    for (const Relocation& r : image.relocations())
      if (r.type == R_X86_64_RELATIVE || r.type == R_X86_64_64) relocations_.push_back(&r);
    const auto where = [](const Relocation* r) { return r->where; };
    if (!std::ranges::is_sorted(relocations_, {}, where)) std::ranges::sort(relocations_, {}, where);
  }

  // The list of tables at `list`.
  void read_list(OldAddr list) {
    for (OldAddr entry = list;; entry += kWord) {
      const std::optional<Word> word = word_at(entry);
      if (!word) refuse();
      if (word->value == 0) return;
      tables_.emplace_back(word->value);
    }
  }
  void add_table(OldAddr table) { tables_.push_back(table); }

  FrameTables read() {
    std::ranges::sort(tables_);
    tables_.erase(std::unique(tables_.begin(), tables_.end()), tables_.end());
    OldAddr end;
    for (OldAddr table : tables_) {
      if (table < end) refuse();  // in another one: a file could have many tables of the same bytes
      end = read_table(table);
    }
    return {std::move(words_)};
  }

 private:
  struct Word {
    uint64_t value;  // when the program runs
    FileOffset at;   // see ReturnWord
    bool has_symbol = false;
  };

  // nullopt if the word is not in the file, or only the dynamic linker knows it.
  std::optional<Word> word_at(OldAddr address) const {
    const auto bytes = image_.bytes(address, kWord);
    const auto at = image_.file_offset(address);
    if (!bytes || !at) return std::nullopt;
    const auto r =
        std::ranges::lower_bound(relocations_, address, {}, [](const Relocation* found) { return found->where; });
    if (r == relocations_.end() || (*r)->where != address) return Word{Reader(*bytes, "frame table").u64(), *at};
    uint64_t value = uint64_t((*r)->addend);
    if ((*r)->type == R_X86_64_64) {
      if ((*r)->symbol >= image_.dynamic_symbols().size()) return std::nullopt;
      const Symbol& s = image_.dynamic_symbols()[(*r)->symbol];
      if (s.section == SHN_UNDEF) return std::nullopt;
      value += s.address.value;
    }
    return Word{value, (*r)->addend_at, (*r)->type == R_X86_64_64};
  }

  // Returns its end.
  OldAddr read_table(OldAddr table) {
    const ByteView bytes = image_.bytes_from(table);
    if (table.value % kWord != 0 || bytes.size() < kWord) refuse();
    Reader r(bytes, "frame table");
    const uint64_t count = r.u64();
    if (count > r.remaining() / kSmallestDescriptor) refuse();
    for (uint64_t i = 0; i < count; ++i) {
      if (r.remaining() < kSmallestDescriptor) refuse();
      read_descriptor(table, r);
    }
    return table + r.position();
  }

  void read_descriptor(OldAddr table, Reader& r) {
    const OldAddr at = table + r.position();
    const std::optional<Word> word = word_at(at);
    r.skip(kWord);
    const bool is_address = word && !word->has_symbol && word->value != 0 && image_.is_code(OldAddr(word->value - 1));
    if (!is_address) refuse();
    words_.push_back({at, OldAddr(word->value), word->at});
    const uint16_t size = r.u16(), live = r.u16();
    if (size == kCalledFromC) {
      r.skip(kWord - 2 * sizeof(uint16_t));
      return;
    }
    if ((size & ~(kHasLines | kHasAllocations)) % kWord != 0) refuse();
    r.skip(live * sizeof(uint16_t));
    uint64_t lines = size & kHasLines ? 1 : 0;
    if (size & kHasAllocations) {
      const uint8_t allocations = r.u8();
      r.skip(allocations);
      lines *= allocations;
    }
    if (lines != 0) {
      r.seek(align_up(r.position(), sizeof(uint32_t)));
      r.skip(lines * sizeof(uint32_t));
    }
    r.seek(align_up(r.position(), kWord));
  }

  const Image& image_;
  std::vector<const Relocation*> relocations_;  // of words that hold addresses, ascending
  std::vector<OldAddr> tables_;
  std::vector<ReturnWord> words_;  // ascending, as tables and their descriptors are read
};

}  // namespace

FrameTables read_frame_tables(const Image& image) {
  std::optional<FrameTableReader> reader;
  for (const auto* symbols : {&image.symbols(), &image.dynamic_symbols()})
    for (const Symbol& s : *symbols) {
      if (s.section == SHN_UNDEF || !s.name.starts_with("caml") || !s.name.ends_with("_frametable")) continue;
      if (!reader) reader.emplace(image);
      if (s.name == "caml_frametable")
        reader->read_list(s.address);
      else if (s.name.ends_with("__frametable"))
        reader->add_table(s.address);
    }
  return reader ? reader->read() : FrameTables();
}

}  // namespace profld
