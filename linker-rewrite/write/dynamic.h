// The dynamic section of the output, and the tables it leads to that grow: also by dynamic symbols of copies, for
// programs that ask for the name of the function that a return address lies in (dladdr, backtrace_symbols). The end of
// dynamic.cc says why nobody else finds them.

#ifndef LINKER_REWRITE_WRITE_DYNAMIC_H
#define LINKER_REWRITE_WRITE_DYNAMIC_H

#include <string>
#include <vector>

#include "linker-rewrite/base/copy_map.h"
#include "linker-rewrite/program/program.h"
#include "segment.h"

namespace profld {

// A piece of code that moves, and a dynamic symbol that names it.
struct NamedPart {
  uint32_t symbol;  // index in Image::dynamic_symbols()
  OldRange part;    // what the symbol covers of one range; empty if the symbol has no size
};

// In the order of the symbols; the pieces of one symbol in ascending order. To be called when it is known what moves.
std::vector<NamedPart> named_parts(const Program& program);

// The symbol for the copy of such a part: `original` with its value and size.
Elf64_Sym symbol_of_copy(Elf64_Sym original, const NamedPart& part, const CopyMap& copies);

// The symbols that a DT_GNU_HASH table leads to.
struct GnuHashTable {
  uint32_t buckets = 0, bloom_words = 0;
  uint32_t first = 0, end = 0;  // indexes of symbols; equal if there are none

  static GnuHashTable read(ByteView table);  // throws Error if it is damaged
  uint64_t size() const { return 16 + uint64_t(bloom_words) * 8 + (uint64_t(buckets) + end - first) * 4; }  // bytes
  uint64_t size_with(uint64_t symbols) const { return size() + (symbols - end) * 4; }
};

// `bytes`, such a table, made to lead to all symbols from its end on, whose names these are (at least one), but never
// by their names.
void append_unfindable(Bytes& bytes, const GnuHashTable& table, const std::vector<std::string>& names);

// What a dynamic program's copy asks of the dynamic linker that the program did not, beside the need for libprof.so.
// Nothing where a text is empty.
struct LinkerWishes {
  std::string audit;        // for DT_AUDIT: a library
  bool traces = false;      // it needs the runtime's function for full windows (profld --trace), too
  std::string search_path;  // folders with colons between them, which are searched before those that the program names
};

// The entries of PT_DYNAMIC, to be changed and written back: to their old place, if there is room, or elsewhere.
class DynamicSection {
 public:
  explicit DynamicSection(const Image& image);  // Throws Error if the image has none

  void set(int64_t tag, uint64_t value);  // changes the entry of that tag or adds one
  void add(int64_t tag, uint64_t value);
  const std::vector<Elf64_Dyn>& entries() const { return entries_; }
  void insert(size_t index, int64_t tag);  // before the entry with that index
  void set_entry(size_t index, uint64_t value) { entries_.at(index).d_un.d_val = value; }
  bool fits() const { return encoded_size() <= room_; }
  uint64_t encoded_size() const { return (entries_.size() + 1) * sizeof(Elf64_Dyn); }  // bytes, with DT_NULL
  Bytes encode() const;

  OldAddr address() const { return address_; }
  void write_in_place(Bytes& file) const;  // if it fits

 private:
  std::vector<Elf64_Dyn> entries_;  // without DT_NULL
  OldAddr address_;
  FileOffset offset_;
  uint64_t room_;  // bytes
};

// The need of a dynamic program or of a shared library for libprof.so: its name, the symbols of the hooks, the slots
// that hold their addresses.
class HookImports {
 public:
  // `library` is the name for DT_NEEDED. Throws Error if the program's dynamic section does not allow it.
  HookImports(const Image& image, std::string library, LinkerWishes wishes = {});

  // What moves of functions that have dynamic symbols. Their copies have some, too. To be called first, if at all.
  void name_copies(std::vector<NamedPart> parts);

  // Step one: room in the new segments.
  void reserve_tables(Segment& read_only);
  void reserve_hook_slots(Segment& writable);
  NewAddr hook_slots() const { return hook_slots_; }
  bool is_library() const { return is_library_; }
  NewAddr load_slot() const { return hook_slots_ + 32; }          // of _profload; a library's
  NewAddr replacement_slots() const { return hook_slots_ + 40; }  // a C library's, see replaced.h

  // Step two. `file` is the original with all changes to its bytes; the dynamic section is changed in it if it can
  // stay. `init`: a library's new DT_INIT.
  void write(Bytes& file, Segment& read_only, Segment& writable, NewAddr init, SectionEdits& edits) const;
  // The symbols of the copies, which lie in that section (0: the output has no section headers).
  void write_copies(Segment& read_only, const CopyMap& copies, unsigned section) const;
  // Where PT_DYNAMIC has gone; nullopt if it stays.
  std::optional<NewAddr> moved_dynamic() const { return dynamic_place_; }
  uint64_t dynamic_size() const { return dynamic_.encoded_size(); }

 private:
  struct Table {
    OldAddr old;
    uint64_t old_size = 0;  // bytes
    NewAddr place;
    uint64_t size = 0;  // bytes
    bool exists() const { return old.value != 0; }
  };
  void reserve_table(Segment& segment, Table& table, uint64_t size, uint64_t align);
  size_t place_of_need() const;
  int64_t search_path_tag() const;
  std::string string_at(uint64_t offset) const;  // in the original's table
  Bytes old_bytes(ByteView file, const Table& table) const;
  Bytes hash_table(ByteView file) const;
  Bytes gnu_hash_table(ByteView file) const;
  Bytes relocations(ByteView file) const;
  uint64_t slots_size() const { return names_.size() * 8; }
  uint64_t added_symbols() const { return names_.size() + copies_.size(); }
  bool moves_gnu_hash() const { return gnu_layout_ && !copies_.empty(); }

  const Image& image_;
  std::string library_;
  LinkerWishes wishes_;
  bool is_library_;
  std::vector<const char*> names_;  // of the new symbols, one for each slot
  DynamicSection dynamic_;          // with all entries that it will have; some values are still missing
  size_t need_;                     // which of them is DT_NEEDED for libprof.so
  uint32_t symbol_count_;           // of the original .dynsym
  std::vector<NamedPart> copies_;   // their symbols are after those of the slots
  Table symbols_, strings_, versions_, hash_, gnu_hash_, rela_;
  std::optional<GnuHashTable> gnu_layout_;  // of gnu_hash_
  uint32_t buckets_ = 0, chains_ = 0;       // of hash_
  NewAddr hook_slots_;
  std::optional<NewAddr> dynamic_place_;  // set if it has to move
};

}  // namespace profld

#endif
