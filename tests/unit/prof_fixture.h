// Hand-made profiles and programs for the reader's tests: what libprof and profld would have written, small enough to
// know every number in it, and easy to damage.

#ifndef TESTS_UNIT_PROF_FIXTURE_H
#define TESTS_UNIT_PROF_FIXTURE_H

#include <elf.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "libprof/format/format.h"
#include "libprof/format/map.h"

namespace prof_test {

using prof_format::Block;

// A directory for one test, removed at its end.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "prof-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A new file: ext4 waits for the disk when one is truncated and written again.
inline void write_file(const std::string& path, const std::string& bytes) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Time stamps of hand-made profiles: one cycle is a nanosecond, the program ran for ten seconds.
inline constexpr uint64_t kStart = 5'000'000'000'000;
inline constexpr uint64_t kEnd = kStart + 10'000'000'000;

class ProfileWriter {
 public:
  ProfileWriter() : bytes_(sizeof(prof_format::Header), '\0') {
    prof_format::Header& h = header();
    std::memcpy(h.magic, prof_format::kMagic, sizeof h.magic);
    h.version = prof_format::kVersion;
    h.byte_order = prof_format::kByteOrder;
    h.header_size = sizeof h;
    h.block_size = PROF_BLOCK_SIZE;
    h.type = prof_format::kElapsed;
    h.flags = prof_format::kEnded;
    h.pid = 0;  // of no process
    h.control = 1;
    h.tsc_start = kStart;
    h.ns_start = 1'000;
    h.tsc_last = h.tsc_end = kEnd;
    h.ns_last = h.ns_end = 1'000 + (kEnd - kStart);
    h.realtime_start = 1;
    count_blocks();
  }

  prof_format::Header& header() { return *at<prof_format::Header>(0); }
  prof_format::Node& node(Block b) { return *at<prof_format::Node>(b); }
  prof_format::Thread& thread(Block b) { return *at<prof_format::Thread>(b); }
  prof_format::FrameChunk& chunk(Block b) { return *at<prof_format::FrameChunk>(b); }
  prof_format::Module& module(Block b) { return *at<prof_format::Module>(b); }

  // Modules are listed in the order of addition.
  Block add_module(const std::string& path, const std::string& build_id, uint64_t bias, uint64_t start, uint64_t end) {
    const Block b = allocate(sizeof(prof_format::Module) + path.size());
    prof_format::Module& m = module(b);
    m.path_size = uint32_t(path.size());
    std::memcpy(reinterpret_cast<char*>(&m + 1), path.data(), path.size());
    m.bias = bias;
    m.start = start;
    m.end = end;
    m.build_id_size = uint32_t(build_id.size());
    std::memcpy(m.build_id, build_id.data(), build_id.size());
    (last_module_ ? module(last_module_).next : header().first_module) = b;
    last_module_ = b;
    return b;
  }

  // A thread and its root. `last_tsc` is the end of the run.
  Block add_thread(uint32_t tid = 1) {
    const Block b = allocate(sizeof(prof_format::Thread));
    const Block root = allocate(sizeof(prof_format::Node));
    thread(b).tid = tid;
    thread(b).tsc_start = kStart;
    thread(b).last_tsc = kEnd;
    thread(b).root = root;
    thread(b).next = header().first_thread;
    header().first_thread = b;
    return b;
  }

  Block add_root() { return allocate(sizeof(prof_format::Node)); }

  // A node, put at the head of its parent's list as libprof does.
  Block add_node(Block parent, uint64_t pc, uint64_t calls, uint64_t self) {
    const Block b = allocate(sizeof(prof_format::Node));
    prof_format::Node& n = node(b);
    n.pc = pc;
    n.count = calls;
    n.cycles = self;
    n.parent = parent;
    n.sibling = node(parent).child;
    node(parent).child = b;
    ++header().nodes;
    return b;
  }

  // Durations of no call, for a node and others of its function, and an octave of them.
  Block add_durations(Block node_block) {
    return node(node_block).durations = allocate(sizeof(prof_format::Durations));
  }
  prof_format::Durations& durations(Block b) { return *at<prof_format::Durations>(b); }
  Block add_octave(Block durations_block, uint32_t octave) {
    const Block b = allocate(sizeof(prof_format::Octave));
    return durations(durations_block).octaves[octave] = b;
  }
  // A block of the list of a thread, with these nodes and durations in cycles, at most seven.
  void log_durations(Block thread_block, const std::vector<std::pair<Block, uint64_t>>& calls) {
    const Block b = allocate(sizeof(prof_format::LoggedDurations));
    auto& list = *at<prof_format::LoggedDurations>(b);
    list.next = thread(thread_block).logged_durations;
    for (const auto& [node_block, cycles] : calls)
      list.entries[list.used++] = {node_block, prof_format::packed_duration(cycles)};
    thread(thread_block).logged_durations = b;
  }
  prof_format::Octave& octave(Block b) { return *at<prof_format::Octave>(b); }

  // A stack of a thread with frames for these calls that have not returned, bottom first; of calls that are not timed
  // the weight is 0.
  struct OpenCall {
    Block node;
    uint32_t weight = 0;
    uint64_t start = 0;
  };
  Block add_stack(Block thread_block, const std::vector<OpenCall>& calls) {
    const Block b = allocate(sizeof(prof_format::FrameChunk) + (calls.size() + 3) * sizeof(prof_format::Frame));
    chunk(b).capacity = uint32_t(calls.size() + 3);
    chunk(b).stack = b;
    chunk(b).next_stack = thread(thread_block).stacks;
    thread(thread_block).stacks = thread(thread_block).frames = b;
    auto* frames = reinterpret_cast<prof_format::Frame*>(&chunk(b) + 1);
    frames[0] = {0x7fff1001, thread(thread_block).root, 0, 0};  // the base
    for (size_t i = 0; i < calls.size(); ++i) {
      const OpenCall& c = calls[i];
      frames[i + 1] = {0x7fff0000 - 64 * i, c.node, c.weight << prof_format::kWeightShift, c.start};
    }
    return b;
  }

  Block root(Block thread_block) { return thread(thread_block).root; }
  std::string& bytes() { return bytes_; }
  void write(const std::string& path) const { write_file(path, bytes_); }

 private:
  template <class T>
  T* at(Block b) {
    return reinterpret_cast<T*>(bytes_.data() + uint64_t(b) * PROF_BLOCK_SIZE);
  }
  Block allocate(size_t size) {
    const Block b = Block(bytes_.size() / PROF_BLOCK_SIZE);
    bytes_.append((size + PROF_BLOCK_SIZE - 1) / PROF_BLOCK_SIZE * PROF_BLOCK_SIZE, '\0');
    count_blocks();
    return b;
  }
  void count_blocks() { header().blocks_used = Block(bytes_.size() / PROF_BLOCK_SIZE); }

  std::string bytes_;
  Block last_module_ = 0;
};

// Makes a header that of the process that runs the tests: of a program that still runs.
inline void be_this_process(prof_format::Header& h) {
  h.pid = uint32_t(getpid());
  std::istringstream stat(read_file("/proc/self/stat"));
  std::string field;
  for (int i = 1; i <= 22; ++i) stat >> field;  // the name of the tests' program is one word
  h.start_time = std::stoull(field);
  read_file("/proc/sys/kernel/random/boot_id").copy(h.boot_id, sizeof h.boot_id - 1);
}

// A small ELF file: symbols, build-id, and what profld adds.
class ElfWriter {
 public:
  std::string build_id;
  bool rewritten = false;
  std::string original_build_id;
  std::string soname;
  uint64_t flags = 0;  // DF_1_*
  uint16_t file_type = ET_EXEC;
  std::vector<prof_format::MapEntry> map;
  std::string steps;  // the bytes of .prof.steps; none if it is empty

  void add_symbol(const std::string& name, uint64_t address, uint64_t size, unsigned char binding = STB_GLOBAL,
                  unsigned char type = STT_FUNC) {
    add_to(symbols_, names_, name, {0, info(binding, type), 0, 1, address, size});
  }

  // The same in .dynsym, with an index into a table of versions; 0x8000 is added to those that are not the default.
  void add_exported(const std::string& name, uint64_t address, uint64_t size, unsigned char binding = STB_GLOBAL,
                    uint16_t version = 2) {
    add_to(dynamic_symbols_, dynamic_names_, name, {0, info(binding, STT_FUNC), 0, 1, address, size});
    versions_.push_back(version);
  }
  void add_undefined(const std::string& name) {
    add_to(dynamic_symbols_, dynamic_names_, name, {0, info(STB_GLOBAL, STT_NOTYPE), 0, SHN_UNDEF, 0, 0});
    versions_.push_back(2);
  }

  // A function of 16 bytes at `original` whose copy of 32 bytes is at `copy`.
  void add_copy(uint64_t copy, uint64_t original) { map.push_back({copy, original, original, 32, 16}); }

  // An import that `function` stands for; the code that calls hooks for it is at `copy`, 16 bytes. In ascending order.
  void add_import(uint64_t copy, uint64_t function, const std::string& name) {
    map.push_back({copy, function, function, 16, 0});
    import_entries_.push_back({function, uint32_t(import_names_.size()), uint32_t(name.size())});
    import_names_ += name;
  }
  prof_format::ImportEntry& import_entry(size_t i) { return import_entries_.at(i); }

  void write(const std::string& path) const {
    std::string bytes(sizeof(Elf64_Ehdr), '\0');
    std::vector<Elf64_Shdr> sections(1);
    std::string section_names(1, '\0');
    auto add = [&](const char* name, uint32_t type, const std::string& contents, uint64_t entry_size = 0) {
      bytes.resize((bytes.size() + 7) / 8 * 8);
      Elf64_Shdr s{};
      s.sh_name = uint32_t(section_names.size());
      s.sh_type = type;
      s.sh_offset = bytes.size();
      s.sh_size = contents.size();
      s.sh_entsize = entry_size;
      s.sh_addralign = type == SHT_NOTE ? 4 : 8;
      s.sh_link = uint32_t(sections.size() + 1);  // a table of names follows what refers to it
      section_names += std::string(name) + '\0';
      sections.push_back(s);
      bytes += contents;
    };
    if (!build_id.empty()) add(".note.gnu.build-id", SHT_NOTE, note("GNU", NT_GNU_BUILD_ID, build_id));
    if (rewritten) {
      add(prof_format::kNoteSection, SHT_NOTE,
          note(prof_format::kNoteOwner, prof_format::kNoteOriginalBuildId, original_build_id));
      prof_format::MapHeader header{};
      std::memcpy(header.magic, prof_format::kMapMagic, sizeof header.magic);
      header.entry_size = sizeof(prof_format::MapEntry);
      header.entries = map.size();
      std::string contents(reinterpret_cast<const char*>(&header), sizeof header);
      contents.append(reinterpret_cast<const char*>(map.data()), map.size() * sizeof map[0]);
      add(prof_format::kMapSection, SHT_PROGBITS, contents);
      if (!steps.empty()) add(prof_format::kStepsSection, SHT_PROGBITS, steps);
      if (!import_entries_.empty()) add(prof_format::kImportsSection, SHT_PROGBITS, imports());
    }
    if (versions_.size() > 1) {
      add(".gnu.version", SHT_GNU_versym,
          std::string(reinterpret_cast<const char*>(versions_.data()), versions_.size() * sizeof versions_[0]));
      add(".dynsym", SHT_DYNSYM, dynamic_symbols_, sizeof(Elf64_Sym));
      add(".dynstr", SHT_STRTAB, dynamic_names_);
    }
    add(".symtab", SHT_SYMTAB, symbols_, sizeof(Elf64_Sym));
    add(".strtab", SHT_STRTAB, names_);
    section_names += std::string(".shstrtab") + '\0';
    add(".shstrtab", SHT_STRTAB, section_names);

    const std::vector<Elf64_Phdr> segments = append_dynamic(bytes);

    Elf64_Ehdr h{};
    std::memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_ident[EI_VERSION] = EV_CURRENT;
    h.e_type = file_type;
    h.e_machine = EM_X86_64;
    h.e_version = EV_CURRENT;
    h.e_ehsize = sizeof h;
    h.e_shentsize = sizeof(Elf64_Shdr);
    h.e_shnum = uint16_t(sections.size());
    h.e_shstrndx = uint16_t(sections.size() - 1);
    h.e_phentsize = sizeof(Elf64_Phdr);
    h.e_phnum = uint16_t(segments.size());
    bytes.resize((bytes.size() + 7) / 8 * 8);
    h.e_phoff = segments.empty() ? 0 : bytes.size();
    bytes.append(reinterpret_cast<const char*>(segments.data()), segments.size() * sizeof(Elf64_Phdr));
    h.e_shoff = bytes.size();
    std::memcpy(bytes.data(), &h, sizeof h);
    bytes.append(reinterpret_cast<const char*>(sections.data()), sections.size() * sizeof sections[0]);
    write_file(path, bytes);
  }

 private:
  // The dynamic section and its names, and the segments that they are in; none if there is nothing to say.
  std::vector<Elf64_Phdr> append_dynamic(std::string& bytes) const {
    if (soname.empty() && flags == 0) return {};
    constexpr uint64_t kAddress = 0x900000;
    const std::string names = std::string(1, '\0') + soname + '\0';
    const Elf64_Dyn entries[] = {{DT_FLAGS_1, {flags}},
                                 {soname.empty() ? DT_DEBUG : DT_SONAME, {1}},
                                 {DT_STRTAB, {kAddress + 5 * sizeof(Elf64_Dyn)}},
                                 {DT_STRSZ, {names.size()}},
                                 {DT_NULL, {0}}};
    bytes.resize((bytes.size() + 7) / 8 * 8);
    const uint64_t at = bytes.size();
    bytes.append(reinterpret_cast<const char*>(entries), sizeof entries);
    bytes += names;
    const uint64_t size = bytes.size() - at;
    return {{PT_LOAD, PF_R, at, kAddress, kAddress, size, size, 8},
            {PT_DYNAMIC, PF_R, at, kAddress, kAddress, sizeof entries, sizeof entries, 8}};
  }
  static unsigned char info(unsigned char binding, unsigned char type) {
    return static_cast<unsigned char>(ELF64_ST_INFO(binding, type));
  }
  static void add_to(std::string& symbols, std::string& names, const std::string& name, Elf64_Sym s) {
    s.st_name = uint32_t(names.size());
    symbols.append(reinterpret_cast<const char*>(&s), sizeof s);
    names += name + '\0';
  }
  static std::string note(const std::string& owner, uint32_t type, const std::string& descriptor) {
    auto padded = [](std::string s) {
      s.resize((s.size() + 3) / 4 * 4);
      return s;
    };
    const Elf64_Nhdr h = {uint32_t(owner.size() + 1), uint32_t(descriptor.size()), type};
    return std::string(reinterpret_cast<const char*>(&h), sizeof h) + padded(owner + '\0') + padded(descriptor);
  }

  std::string imports() const {
    prof_format::ImportsHeader header{};
    std::memcpy(header.magic, prof_format::kImportsMagic, sizeof header.magic);
    header.entry_size = sizeof(prof_format::ImportEntry);
    header.entries = import_entries_.size();
    std::string contents(reinterpret_cast<const char*>(&header), sizeof header);
    contents.append(reinterpret_cast<const char*>(import_entries_.data()),
                    import_entries_.size() * sizeof import_entries_[0]);
    return contents + import_names_;
  }

  std::vector<prof_format::ImportEntry> import_entries_;
  std::string import_names_;
  std::string symbols_ = std::string(sizeof(Elf64_Sym), '\0'), dynamic_symbols_ = symbols_;
  std::string names_ = std::string(1, '\0'), dynamic_names_ = names_;
  std::vector<uint16_t> versions_ = {0};
};

// The profile of a run of a program of functions a, b, c ... at 0x100, 0x200, ..., whose copies are at 0x10000 + that.
class LetteredRun {
 public:
  LetteredRun() {
    ElfWriter e;
    e.rewritten = true;
    e.build_id = "id";
    for (unsigned i = 0; i < 26; ++i) {
      e.add_symbol(std::string(1, char('a' + i)), address(i), 16);
      e.add_copy(0x10000 + address(i), address(i));
    }
    e.write(dir / "program");
    writer.add_module(dir / "program", "id", kBias, kBias, kBias + 0x100000);
    thread = writer.add_thread();
  }
  static constexpr uint64_t kBias = 0x555500000000;
  static uint64_t address(unsigned i) { return 0x100 * (i + 1); }
  static uint64_t pc(char function) { return kBias + 0x10000 + address(unsigned(function - 'a')) + 5; }

  // Of the thread's root if `parent` is 0.
  Block call(Block parent, char function, uint64_t calls, uint64_t self) {
    return writer.add_node(parent ? parent : writer.root(thread), pc(function), calls, self);
  }

  TemporaryDirectory dir;
  ProfileWriter writer;
  Block thread = 0;
};

// Remarks, a line each.
inline std::string lines(const std::vector<std::string>& remarks) {
  std::string text;
  for (const std::string& remark : remarks) text += remark + "\n";
  return text;
}

}  // namespace prof_test

#endif
