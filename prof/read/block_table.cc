// Each function by itself. The blocks without counters make a forest of its places, which is taken apart from its
// leaves: a place with a single block that is not known yet gives that block's count. Place 0 gives none, so it is left
// to the end.

#include "block_table.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "libprof/format/blocks.h"

namespace prof {

namespace {

using prof_format::BlockEntry;
using prof_format::BlockFunction;
using prof_format::BlocksHeader;

class Solver {
 public:
  Solver(const std::vector<uint64_t>& counters, Listed listed) : counters_(counters), listed_(listed) {}

  // Appends the blocks of a function. Those that name places it does not have are left out.
  void solve(const BlockFunction& function, const std::vector<BlockEntry>& blocks, AllBlocks& all) {
    const bool ran = std::ranges::any_of(blocks, [&](const BlockEntry& b) { return value_of(b) != 0; });
    if (!ran && listed_ == Listed::executed) return;
    places_.assign(function.places, {});
    counts_.assign(blocks.size(), 0);
    if (ran) count(blocks);
    const size_t first_block = all.blocks.size(), first_way = all.ways.size();
    const auto address = [&](const BlockEntry& block) { return function.entry + uint64_t(int64_t(block.offset)); };
    for (size_t b = 0; b < blocks.size(); ++b) {
      const BlockEntry& block = blocks[b];
      const uint32_t jump = block.counter & ~prof_format::kTarget;  // the number of its block
      const uint64_t count = int64_t(counts_[b]) < 0 ? 0 : counts_[b];
      if (!is_whole(block)) continue;
      if (is_target(block)) {
        if (jump < blocks.size()) all.targets.push_back({address(blocks[jump]), address(block), block.size == 0});
      } else if (!is_block(block)) {
        // Without a counter, and leading back to the place where it begins, it has a count that nothing tells.
        if (block.counter != prof_format::kNoCounter || block.from != block.to)
          all.ways.push_back({address(block), block.size != 0, count});
      } else {
        all.blocks.push_back({address(block), block.size, count});
      }
    }
    add_up(all.blocks, first_block, [](const BlockRuns& block) { return block.address; });
    add_up(all.ways, first_way, [](const WayRuns& way) { return std::pair(way.end, way.is_taken); });
  }

 private:
  // What is the same, since it stands several times in the copy, of those from the index `first` on. Nearly always they
  // are in order.
  template <class T, class Place>
  static void add_up(std::vector<T>& all, size_t first, Place place_of) {
    const auto begin = all.begin() + ptrdiff_t(first);
    const auto is_before = [&](const T& a, const T& b) { return place_of(a) < place_of(b); };
    if (std::adjacent_find(begin, all.end(), std::not_fn(is_before)) == all.end()) return;
    std::stable_sort(begin, all.end(), is_before);
    size_t last = first;
    for (size_t i = first + 1; i < all.size(); ++i) {
      if (place_of(all[i]) == place_of(all[last]))
        all[last].count += all[i].count;
      else
        all[++last] = all[i];
    }
    all.resize(last + 1);
  }

  struct Place {
    uint32_t unknown = 0;         // how many blocks there have no count yet
    uint64_t sum_of_unknown = 0;  // of their indexes: of a single one, that is its index
    uint64_t surplus = 0;         // what came here less what went away, of the others
  };

  static bool is_block(const BlockEntry& block) { return block.size != 0 && block.size != prof_format::kMarked; }
  static bool is_target(const BlockEntry& block) {
    return !is_block(block) && block.counter >= prof_format::kTarget && block.counter != prof_format::kNoCounter;
  }

  uint64_t value_of(const BlockEntry& block) const {
    return block.counter < counters_.size() ? counters_[block.counter] : 0;
  }

  void count(const std::vector<BlockEntry>& blocks) {
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      const BlockEntry& block = blocks[b];
      if (!is_whole(block)) continue;
      if (block.counter != prof_format::kNoCounter) {
        set(b, block, value_of(block));
      } else if (block.from != block.to) {
        for (const uint32_t p : {block.from, block.to}) {
          ++places_[p].unknown;
          places_[p].sum_of_unknown += b;
        }
      }
    }
    for (uint32_t p = 1; p < places_.size(); ++p) follow(p, blocks);
  }

  bool is_whole(const BlockEntry& block) const { return block.from < places_.size() && block.to < places_.size(); }

  void set(uint32_t b, const BlockEntry& block, uint64_t count) {
    counts_[b] = count;
    places_[block.to].surplus += count;
    places_[block.from].surplus -= count;
  }

  // From a place with a single unknown block on, as long as there are such.
  void follow(uint32_t p, const std::vector<BlockEntry>& blocks) {
    while (p != 0 && places_[p].unknown == 1) {
      const auto b = uint32_t(places_[p].sum_of_unknown);
      const BlockEntry& block = blocks[b];
      const uint64_t surplus = places_[p].surplus;
      set(b, block, block.to == p ? 0 - surplus : surplus);
      for (const uint32_t end : {block.from, block.to}) {
        --places_[end].unknown;
        places_[end].sum_of_unknown -= b;
      }
      p = block.to == p ? block.from : block.to;
    }
  }

  const std::vector<uint64_t>& counters_;
  const Listed listed_;
  std::vector<Place> places_;
  std::vector<uint64_t> counts_;
};

constexpr uint64_t kPiece = 64 << 10;  // bytes

// Structures of a section, one after the other, which may be longer than we know them.
template <class T>
class Structures {
 public:
  // `start`: where in the section they begin, which is not after its end.
  Structures(const BlocksSection& section, uint64_t start, uint32_t size, uint64_t count)
      : section_(section),
        start_(start),
        size_(size),
        count_(size < sizeof(T) ? 0 : std::min<uint64_t>(count, (section.size() - start) / size)) {}
  uint64_t count() const { return count_; }
  uint64_t end() const { return start_ + count_ * size_; }
  // Zeros, if the file is shorter by now.
  T operator[](uint64_t i) {
    const uint64_t at = start_ + i * size_;
    if (at < piece_start_ || at - piece_start_ + sizeof(T) > piece_.size()) {
      piece_ = section_.piece(at, buffer_);
      piece_start_ = at;
    }
    T value = {};
    if (piece_.size() >= sizeof value + (at - piece_start_))
      std::memcpy(&value, piece_.data() + (at - piece_start_), sizeof value);
    return value;
  }

 private:
  const BlocksSection& section_;
  const uint64_t start_;
  const uint32_t size_;
  const uint64_t count_;
  std::string buffer_;
  std::string_view piece_;
  uint64_t piece_start_ = 0;
};

// Calls `take` with each function, its blocks, and whether the section is an old one; up to the first that cannot be.
template <class Take>
void read_section(const BlocksSection& section, const Take& take) {
  if (section.size() < sizeof(BlocksHeader)) return;
  const BlocksHeader header = Structures<BlocksHeader>(section, 0, sizeof(BlocksHeader), 1)[0];
  const auto is = [&](const char* magic) { return std::memcmp(header.magic, magic, sizeof header.magic) == 0; };
  const bool is_old = is(prof_format::kOldBlocksMagic) || is(prof_format::kOldLockedBlocksMagic);
  if (!is_old && !is(prof_format::kBlocksMagic) && !is(prof_format::kLockedBlocksMagic)) return;
  Structures<BlockFunction> functions(section, sizeof header, header.function_size, header.functions);
  Structures<BlockEntry> entries(section, functions.end(), header.block_size, header.blocks);
  std::vector<BlockEntry> blocks;
  uint64_t next = 0;
  for (uint64_t f = 0; f < functions.count(); ++f) {
    const BlockFunction function = functions[f];
    const uint64_t most_places = 1 + 2 * uint64_t(function.blocks);
    if (function.blocks > entries.count() - next || function.places > most_places) break;
    blocks.clear();
    for (uint64_t end = next + function.blocks; next < end; ++next) blocks.push_back(entries[next]);
    take(function, blocks, is_old);
  }
}

}  // namespace

BlocksSection::BlocksSection(const ElfFile& file) : file_(&file) {
  if (const std::optional<ElfFile::Range> range = file.section_range(prof_format::kBlocksSection)) {
    size_ = range->size;
    offset_ = range->offset;
  }
}

std::string_view BlocksSection::piece(uint64_t offset, std::string& buffer) const {
  if (offset >= size_) return {};
  if (!file_) return bytes_.substr(offset);
  buffer.resize(std::min(kPiece, size_ - offset));
  if (!file_->read_bytes(buffer.data(), offset_ + offset, buffer.size())) return {};
  return buffer;
}

AllBlocks block_runs(const BlocksSection& section, const std::vector<uint64_t>& counters, Listed listed) {
  AllBlocks all;
  Solver solver(counters, listed);
  read_section(section, [&](const BlockFunction& function, const std::vector<BlockEntry>& blocks, bool is_old) {
    solver.solve(function, blocks, all);
    if (is_old) all.ways.clear();
  });
  return all;
}

bool are_increments_locked(std::string_view section) {
  const auto begins_with = [&](const char(&magic)[8]) {
    return section.starts_with(std::string_view(static_cast<const char*>(magic), sizeof magic));
  };
  return begins_with(prof_format::kLockedBlocksMagic) || begins_with(prof_format::kOldLockedBlocksMagic);
}

AllIncrements increments(const BlocksSection& section, const std::vector<uint64_t>& counters) {
  AllIncrements all;
  std::string buffer;
  all.are_locked = are_increments_locked(section.piece(0, buffer));
  read_section(section, [&](const BlockFunction& function, const std::vector<BlockEntry>& blocks, bool) {
    uint64_t count = 0;
    for (const BlockEntry& block : blocks)
      if (block.counter < counters.size()) count += counters[block.counter];
    if (count != 0) all.of_functions.push_back({function.entry, count});
  });
  return all;
}

}  // namespace prof
