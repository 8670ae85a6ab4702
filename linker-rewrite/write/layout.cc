// The output is the original file, with its bytes at their old offsets and addresses, and new segments after
// (segment.cc says where, and why there). In ascending order of their addresses:
//
//   RW   dynamic programs: the hook slots, .dynamic if it has to move (dynamic.cc)
//        static programs: the segments of the runtime (runtime.cc), at the end of its data the image of thread-local
//        storage (tls.cc)
//   R    program headers, notes; what a dynamic program's loader reads: .dynsym .dynstr .gnu.version .hash .gnu.hash
//        .rela.dyn
//   RX   the copies
//   RW   the counters of blocks (profld -b), in pages of their own: the runtime maps the profile there;
//        or what profld --trace has there (libprof/format/trace.h)
//   R    cloned jump tables, .eh_frame, tables of exception handlers, .eh_frame_hdr
//
// The sizes of all but the last two are known once it is known what moves, before code is emitted, so code can be
// emitted at its final address. After the last segment come the sections that are not mapped: .prof.map, .prof.steps,
// .prof.loops, .prof.imports, .prof.coverage, symbols, section headers, and what the program looks for at the end of
// its file (sections.cc).
//
// strip and objcopy (GNU binutils 2.40) build a file anew from its sections. Where the program headers do not follow
// the ELF header, they put them immediately after the segment before, without regard to their place in a page, and the
// addresses of all that follows in the same segment come out wrong, unless the place in the page happens to be the
// same, the next section follows immediately, and no section covers the headers themselves. So we make all three true.
// And the writable segment comes first, because we can choose where it ends, unlike the original's last segment.
//
// Everything old that is not mentioned here stays: PT_INTERP, RELRO, GNU_STACK, GNU_PROPERTY, their order, and each
// section's index. The kernel starts the heap (brk) after the last segment, wherever that is. Programs that cannot do
// with that have the new segments in front, in the same order (decide/heap_place.cc).

#include "layout.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "dynamic.h"
#include "libprof/format/blocks.h"
#include "libprof/format/coverage.h"
#include "libprof/format/hook_sites.h"
#include "libprof/format/map.h"
#include "libprof/format/trace.h"
#include "linker-rewrite/base/bytes.h"
#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/blocks/block_counters.h"
#include "linker-rewrite/elf/notes.h"
#include "linker-rewrite/move/plan.h"
#include "runtime.h"
#include "sections.h"
#include "symtab.h"
#include "tls.h"

namespace profld {

// The build-id identifies a file's contents, so the output needs one of its own: otherwise a debugger or a cache would
// take the output for the original. It is written over the original's, in place. So no tool can find the old one,
// whether it looks at program headers, section headers, or memory. A program without build-id gets one. The original's
// is kept in the note "prof".

namespace {

// The notes that tell the output from the original: its own build-id, and the note "prof" that marks it as rewritten.
class NewNotes {
 public:
  explicit NewNotes(const Image& image);

  void reserve(Segment& read_only);
  void write(Segment& read_only, SectionEdits& edits) const;
  Elf64_Phdr header(const Placement& placement) const;  // a PT_NOTE for the new notes

  // Where in the output the build-id will be written, and its size in bytes. It is computed from the output without
  // these bytes.
  FileOffset build_id_at(const Placement& placement) const;
  uint64_t build_id_size() const { return id_size_; }

 private:
  Bytes new_notes_;                   // their bytes
  std::optional<FileOffset> old_id_;  // the original's build-id
  uint64_t id_size_;
  NewAddr place_;
};

Bytes make_note(const char* owner, uint32_t type, ByteView descriptor) {
  uint32_t owner_size = uint32_t(std::strlen(owner) + 1);
  Bytes out(sizeof(Elf64_Nhdr));
  put(out, 0, Elf64_Nhdr{owner_size, uint32_t(descriptor.size()), type});
  append_bytes(out, ByteView(reinterpret_cast<const uint8_t*>(owner), owner_size));
  out.resize(align_up(out.size(), 4));
  append_bytes(out, descriptor);
  out.resize(align_up(out.size(), 4));
  return out;
}

constexpr uint64_t kIdSize = 20;                                   // of a build-id that we add
constexpr uint64_t kIdOffset = sizeof(Elf64_Nhdr) + sizeof "GNU";  // in its note

}  // namespace

NewNotes::NewNotes(const Image& image) : id_size_(kIdSize) {
  ByteView old_id;
  each_loaded_note(image, [&](const Note& n) {
    if (n.is_build_id()) old_id = n.descriptor;
    return n.is_build_id();
  });
  if (!old_id.empty()) {
    old_id_ = FileOffset(uint64_t(old_id.data() - image.file().data()));
    id_size_ = old_id.size();
  } else {
    new_notes_ = make_note(ELF_NOTE_GNU, NT_GNU_BUILD_ID, Bytes(kIdSize));
  }
  append_bytes(new_notes_, make_note(prof_format::kNoteOwner, prof_format::kNoteOriginalBuildId, old_id));
}

void NewNotes::reserve(Segment& read_only) { place_ = read_only.reserve(new_notes_.size(), 4); }

void NewNotes::write(Segment& read_only, SectionEdits& edits) const {
  read_only.write(place_, new_notes_);
  uint64_t id_note = old_id_ ? 0 : kIdOffset + kIdSize;
  if (id_note) edits.add(".note.gnu.build-id", SHT_NOTE, 0, place_, id_note, 4);
  edits.add(prof_format::kNoteSection, SHT_NOTE, 0, place_ + id_note, new_notes_.size() - id_note, 4);
}

Elf64_Phdr NewNotes::header(const Placement& placement) const {
  Elf64_Phdr h{};
  h.p_type = PT_NOTE;
  h.p_flags = PF_R;
  h.p_offset = placement.file_offset(place_).value;
  h.p_vaddr = h.p_paddr = place_.value;
  h.p_filesz = h.p_memsz = new_notes_.size();
  h.p_align = 4;
  return h;
}

FileOffset NewNotes::build_id_at(const Placement& placement) const {
  return old_id_ ? *old_id_ : placement.file_offset(place_ + kIdOffset);
}

namespace {

int32_t offset_of(OldAddr at, OldAddr entry) {
  const int64_t offset = int64_t(at.value - entry.value);
  if (offset != int32_t(offset)) throw refusal(Refusal::data_too_far);
  return int32_t(offset);
}

Bytes encode_blocks(const std::vector<CountedFunction>& functions, uint32_t counters, bool are_locked) {
  prof_format::BlocksHeader header{};
  const char* magic = are_locked ? prof_format::kLockedBlocksMagic : prof_format::kBlocksMagic;
  std::memcpy(header.magic, magic, sizeof header.magic);
  header.function_size = sizeof(prof_format::BlockFunction);
  header.block_size = sizeof(prof_format::BlockEntry);
  header.functions = functions.size();
  for (const CountedFunction& f : functions) header.blocks += f.blocks.size();
  header.counters = counters;

  Bytes out;
  out.reserve(sizeof header + header.functions * header.function_size + header.blocks * header.block_size);
  append(out, header);
  for (const CountedFunction& f : functions)
    append(out, prof_format::BlockFunction{f.entry.value, uint32_t(f.blocks.size()), f.places});
  for (const CountedFunction& f : functions)
    for (const CountedBlock& b : f.blocks)
      append(out, prof_format::BlockEntry{offset_of(b.range.start, f.entry),
                                          b.is_marked ? prof_format::kMarked : uint32_t(b.range.size()), b.from, b.to,
                                          b.counter});
  return out;
}

// The list lies at `at`.
Bytes encode_increments(const std::vector<NewAddr>& increments, uint32_t flags, NewAddr at) {
  Bytes out;
  append(out, prof_format::IncrementsHeader{uint32_t(increments.size()), flags});
  for (const NewAddr increment : increments) append(out, int32_t(int64_t(increment - at)));
  return out;
}

// The list lies at `at`.
Bytes encode_hook_sites(const HookSites& sites, NewAddr at) {
  const auto place = [at](NewAddr address) { return int32_t(int64_t(address - at)); };
  std::vector<prof_format::HookEntry> entries;
  std::vector<uint32_t> first_calls = {0};
  std::vector<int32_t> calls;
  for (uint32_t f = 0; f < sites.functions.size(); ++f) {
    const auto& [of_entries, of_exits, is_import] = sites.functions[f];
    for (const NewAddr entry : of_entries) entries.push_back({place(entry), f});
    if (!is_import)
      for (const std::vector<NewAddr>* ends : {&of_exits, &of_entries})
        for (const NewAddr end : *ends) calls.push_back(place(end));
    first_calls.push_back(uint32_t(calls.size()));
  }
  std::ranges::sort(entries, {}, &prof_format::HookEntry::place);
  Bytes out;
  append(out, prof_format::HookSites{uint32_t(entries.size()), uint32_t(sites.functions.size()), uint32_t(calls.size()),
                                     sites.thunks ? place(*sites.thunks) : 0});
  for (const prof_format::HookEntry& entry : entries) append(out, entry);
  for (const uint32_t first : first_calls) append(out, first);
  for (const int32_t call : calls) append(out, call);
  return out;
}

constexpr size_t kMaxHeaders = kPage / sizeof(Elf64_Phdr);  // kernels refuse to load more

Bytes encode_coverage(const Coverage& code) {
  prof_format::CodeCoverage section{.magic = {},
                                    .hooked = code.hooked,
                                    .stays = code.stays,
                                    .not_chosen = code.not_chosen,
                                    .stubs = code.stubs,
                                    .padding = code.padding,
                                    .unknown = code.unknown};
  std::ranges::copy(prof_format::kCoverageMagic, section.magic);
  Bytes bytes;
  append(bytes, section);
  return bytes;
}

class ProgramLayout : public Layout {
 public:
  ProgramLayout(const Image& image, const RuntimeFile& runtime, const LinkerWishes& wishes, bool counts_blocks,
                Place place);

  void name_copies(const Program& program) override;
  NewAddr hook_slots() const override { return imports_ ? imports_->hook_slots() : runtime_.hook_slots(); }
  AnchoredRange runtime_code() const override {
    return imports_ ? AnchoredRange{HookSlots(imports_->hook_slots()).tail, true}
                    : AnchoredRange{runtime_.tail(), false};
  }
  NewAddr text() const override { return text_; }
  std::optional<AddedCode> added_code() const override {
    return imports_ ? std::nullopt : std::optional(runtime_.code());
  }
  std::optional<LibraryStart> library_start() const override;
  // A static program calls nothing in the place of its C library.
  bool begins_threads() const override { return imports_ && runtime_.begins_threads(); }
  NewAddr replacement_slots() const override { return imports_ ? imports_->replacement_slots() : NewAddr(); }
  std::vector<FilePart> finish(Contents contents) override;

 private:
  void place_read_only();
  size_t header_count() const;
  bool needs_phdr() const;
  std::vector<Elf64_Phdr> program_headers() const;
  void emit_copies(Contents& contents, SectionEdits& edits);
  std::vector<const Segment*> segments() const;  // ascending, without empty ones
  void write_build_id(std::vector<FilePart>& mapped) const;
  bool is_trace() const { return counters_type_ == prof_format::kTraceSegment; }

  const Image& image_;
  uint64_t kept_;  // bytes of the original file
  Place place_;
  Placement placement_;
  Runtime runtime_;
  NewNotes notes_;
  std::optional<HookImports> imports_;                     // dynamic programs
  std::optional<ThreadLocalRoom> tls_;                     // static programs
  Segment read_only_, writable_, code_, counters_, tail_;  // writable_: dynamic programs only
  const bool counts_blocks_;
  uint32_t counters_type_ = 0;  // of the program header that tells the runtime of counters_
  NewAddr headers_;             // of the program header table
  NewAddr text_;
  std::optional<Elf64_Phdr> unwind_header_;  // the new PT_GNU_EH_FRAME
  std::optional<Elf64_Phdr> increments_header_, hook_sites_header_;
};

std::string name_of(const RuntimeFile& runtime) {
  if (!runtime.name.empty()) return runtime.name;
  return std::filesystem::absolute(runtime.path).lexically_normal().string();
}

ProgramLayout::ProgramLayout(const Image& image, const RuntimeFile& runtime, const LinkerWishes& wishes,
                             bool counts_blocks, Place place)
    : image_(image),
      kept_(kept_file_size(image)),
      place_(place),
      placement_(place_new_segments(image, kept_, place)),
      runtime_(runtime.path),
      notes_(image),
      counts_blocks_(counts_blocks) {
  if (image.is_static())
    tls_.emplace(image, runtime_.tls());
  else
    imports_.emplace(image, name_of(runtime), wishes);

  if (header_count() > kMaxHeaders) throw refusal(Refusal::too_many_headers);
  if (imports_) {
    writable_ = Segment(PF_R | PF_W, placement_.start);
    imports_->reserve_hook_slots(writable_);
  } else {
    runtime_.place(placement_.start);
    tls_->reserve_image(runtime_.data());
  }
  place_read_only();
}

// Places what comes before the copies, and the copies after it.
void ProgramLayout::place_read_only() {
  const Segment& before = imports_ ? writable_ : runtime_.data();
  read_only_ = Segment(PF_R, before.next_page() + before.end().value % kPage);
  headers_ = read_only_.reserve(header_count() * sizeof(Elf64_Phdr), 1);
  notes_.reserve(read_only_);
  if (imports_)
    imports_->reserve_tables(read_only_);
  else
    tls_->reserve_relocations(read_only_);
  text_ = read_only_.next_page();
}

void ProgramLayout::name_copies(const Program& program) {
  if (!imports_) return;
  imports_->name_copies(named_parts(program));
  place_read_only();
}

// A static PIE has no PT_PHDR, so we add one: the runtime uses it to find out, without /proc, where the program was
// loaded.
bool ProgramLayout::needs_phdr() const { return image_.is_position_independent() && !image_.segment(PT_PHDR); }

// Headers that are missing in the end are zeros, which are headers of no segment.
std::optional<LibraryStart> ProgramLayout::library_start() const {
  if (!imports_ || !imports_->is_library()) return std::nullopt;
  LibraryStart start{imports_->load_slot(), headers_, uint32_t(header_count()), std::nullopt};
  if (const auto init = image_.dynamic_value(DT_INIT)) start.old_init = OldAddr(*init);
  return start;
}

// How many program headers the output has if something was copied.
size_t ProgramLayout::header_count() const {
  size_t count = image_.segments().size();
  count += 3 + (imports_ ? 1 : runtime_.segment_count());  // PT_LOADs, in the order above
  count += 1;                                              // PT_NOTE
  if (counts_blocks_) count += 4;  // the counters, as a PT_LOAD and for the runtime; the lists of increments and hooks
  if (tls_ && !image_.segment(PT_TLS)) ++count;
  if (!image_.segment(PT_GNU_EH_FRAME)) ++count;
  if (needs_phdr()) ++count;
  return count;
}

void ProgramLayout::emit_copies(Contents& contents, SectionEdits& edits) {
  code_ = Segment(PF_R | PF_X, text_);
  code_.fill(std::move(contents.text));
  if (contents.counters != 0) {
    counters_ = Segment(PF_R | PF_W, counters_start(code_.bytes().size()));
    const uint64_t size = align_up(contents.counters * sizeof(uint64_t), kPage);
    Bytes bytes(size);
    if (!contents.trace.empty()) std::ranges::copy(contents.trace, bytes.begin() + kPage);
    counters_type_ = !contents.trace.empty()            ? prof_format::kTraceSegment
                     : contents.counters_are_of_process ? prof_format::kSharedCountersSegment
                                                        : prof_format::kCountersSegment;
    counters_.fill(std::move(bytes));
    edits.add(is_trace() ? ".prof.trace" : ".prof.counters", SHT_PROGBITS, SHF_WRITE, counters_.start(), size, kPage);
  }
  tail_ = Segment(PF_R, read_only_start(code_.bytes().size(), contents.counters));
  const NewAddr unwind_at(align_up((tail_.start() + contents.tables.size()).value, 8));
  const UnwindPlaces places = unwind_places(contents.unwind, unwind_at);
  tail_.expect(places.end - tail_.start());
  tail_.append(contents.tables, 1);
  if (!code_.empty()) edits.add(".prof.text", SHT_PROGBITS, SHF_EXECINSTR, text_, code_.bytes().size(), 64);
  if (!tail_.empty()) edits.add(".prof.tables", SHT_PROGBITS, 0, tail_.start(), tail_.bytes().size(), 16);

  const UnwindTables& unwind = contents.unwind;
  auto emit = [&](const char* name, NewAddr at, const Bytes& bytes, const Section* old) {
    if (bytes.empty()) return;
    tail_.reserve(at + bytes.size() - tail_.end(), 1);
    tail_.write(at, bytes);
    if (old)
      edits.move(old, at, bytes.size());
    else
      edits.add(name, SHT_PROGBITS, 0, at, bytes.size(), 8);
  };
  emit(".eh_frame", places.eh_frame, unwind.eh_frame, image_.section(".eh_frame"));
  emit(".prof.except", places.except_table, unwind.except_table, nullptr);
  emit(".eh_frame_hdr", places.eh_frame_hdr, unwind.eh_frame_hdr, image_.section(".eh_frame_hdr"));
  const auto header = [&](uint32_t type, NewAddr at, uint64_t size) {
    Elf64_Phdr h{};
    h.p_type = type;
    h.p_flags = PF_R;
    h.p_offset = placement_.file_offset(at).value;
    h.p_vaddr = h.p_paddr = at.value;
    h.p_filesz = h.p_memsz = size;
    h.p_align = 4;
    return h;
  };
  if (!unwind.eh_frame_hdr.empty())
    unwind_header_ = header(PT_GNU_EH_FRAME, places.eh_frame_hdr, unwind.eh_frame_hdr.size());
  if (contents.hook_sites) {
    const NewAddr at(align_up(tail_.end().value, 8));
    const Bytes list = encode_hook_sites(*contents.hook_sites, at);
    emit(".prof.hooks", at, list, nullptr);
    hook_sites_header_ = header(prof_format::kHookSitesSegment, at, list.size());
  }
  if (contents.increments.empty() && contents.increments_flags == 0) return;
  const NewAddr at(align_up(tail_.end().value, 8));
  const Bytes list = encode_increments(contents.increments, contents.increments_flags, at);
  emit(".prof.increments", at, list, nullptr);
  increments_header_ = header(prof_format::kIncrementsSegment, at, list.size());
}

std::vector<const Segment*> ProgramLayout::segments() const {
  std::vector<const Segment*> all = {&writable_};
  for (const Segment& s : runtime_.segments()) all.push_back(&s);
  all.insert(all.end(), {&read_only_, &code_, &counters_, &tail_});
  std::erase_if(all, [](const Segment* s) { return s->empty(); });
  return all;
}

std::vector<Elf64_Phdr> ProgramLayout::program_headers() const {
  std::vector<Elf64_Phdr> out = image_.segments();
  auto replace_or_add = [&](const Elf64_Phdr& h) {
    auto it = std::ranges::find(out, h.p_type, &Elf64_Phdr::p_type);
    if (it != out.end())
      *it = h;
    else
      out.push_back(h);
  };
  if (tls_) replace_or_add(tls_->header(placement_));
  if (unwind_header_) replace_or_add(*unwind_header_);
  if (imports_ && imports_->moved_dynamic()) {
    auto it = std::ranges::find(out, uint32_t(PT_DYNAMIC), &Elf64_Phdr::p_type);
    it->p_vaddr = it->p_paddr = imports_->moved_dynamic()->value;
    it->p_offset = placement_.file_offset(*imports_->moved_dynamic()).value;
    it->p_filesz = it->p_memsz = imports_->dynamic_size();
  }
  out.push_back(notes_.header(placement_));
  if (!counters_.empty()) {
    out.push_back(counters_.header(placement_));
    out.back().p_type = counters_type_;
  }
  if (increments_header_) out.push_back(*increments_header_);
  if (hook_sites_header_) out.push_back(*hook_sites_header_);

  const auto first_load = std::ranges::find(out, uint32_t(PT_LOAD), &Elf64_Phdr::p_type);
  const auto last_load = std::ranges::find(out.rbegin(), out.rend(), uint32_t(PT_LOAD), &Elf64_Phdr::p_type).base();
  std::vector<Elf64_Phdr> loads;
  for (const Segment* s : segments()) loads.push_back(s->header(placement_));
  out.insert(place_ == Place::in_front ? first_load : last_load, loads.begin(), loads.end());

  if (needs_phdr()) {
    Elf64_Phdr h{};
    h.p_type = PT_PHDR;
    h.p_flags = PF_R;
    h.p_align = 8;
    out.insert(out.begin(), h);  // before all PT_LOADs, as the ELF specification wants
  }
  for (Elf64_Phdr& h : out) {
    if (h.p_type != PT_PHDR) continue;
    h.p_vaddr = h.p_paddr = headers_.value;
    h.p_offset = placement_.file_offset(headers_).value;
    h.p_filesz = h.p_memsz = out.size() * sizeof(Elf64_Phdr);
  }
  return out;
}

std::vector<FilePart> ProgramLayout::finish(Contents contents) {
  Bytes kept;
  kept.reserve(kept_);
  while (kept.size() < kept_) {
    constexpr size_t kBlock = 4 << 20;
    append_bytes(kept, image_.file().subspan(kept.size(), std::min(kBlock, kept_ - kept.size())));
    image_.release();
  }
  for (const Patch& p : contents.patches) {
    if (p.at.value > kept_ || p.bytes.size() > kept_ - p.at.value) throw internal_error("patch outside the file");
    std::ranges::copy(p.bytes, kept.begin() + long(p.at.value));
  }

  SectionEdits edits;
  notes_.write(read_only_, edits);
  if (imports_) imports_->write(kept, read_only_, writable_, contents.library_start, edits);
  if (tls_) {
    tls_->write(kept, read_only_, runtime_.data(), edits);
    runtime_.write(image_.entry(), tls_->offset(), contents.is_thread_pointer_doubtful, contents.has_hooks, edits);
  }
  emit_copies(contents, edits);

  if (place_ == Place::in_front && segments().back()->next_page().value > image_.span().start.value)
    throw refusal(Refusal::heap_after_data);
  std::vector<Elf64_Phdr> headers = program_headers();
  Bytes table;
  for (const Elf64_Phdr& h : headers) append(table, h);
  read_only_.write(headers_, table);

  Elf64_Ehdr elf = image_.header();
  elf.e_phoff = placement_.file_offset(headers_).value;
  elf.e_phnum = uint16_t(headers.size());
  if (tls_) elf.e_entry = runtime_.start().value;
  // If the original has no section headers, the output has none for mapped bytes either: for tools, half of them would
  // be worse than none.
  bool has_sections = !image_.sections().empty();
  SectionTable sections(image_, placement_, has_sections ? edits : SectionEdits());
  if (imports_) imports_->write_copies(read_only_, contents.copies, has_sections ? sections.index_at(text_) : 0);
  Elf64_Shdr map{};
  map.sh_type = SHT_PROGBITS;
  map.sh_addralign = 8;
  sections.add(prof_format::kMapSection, map, encode_map(contents.copies, contents.imports));
  sections.add(prof_format::kStepsSection, map, encode_steps(contents.copies, contents.imports));
  if (std::ranges::any_of(contents.copies.copies(), [](const RangeCopy& c) { return !c.loops.empty(); }))
    sections.add(prof_format::kLoopsSection, map, encode_loops(contents.copies));
  if (!contents.imports.empty()) sections.add(prof_format::kImportsSection, map, encode_imports(contents.imports));
  if (contents.counters != 0 && !is_trace())
    sections.add(prof_format::kBlocksSection, map,
                 encode_blocks(contents.counted, contents.counters, contents.increments_are_locked));
  if (contents.coverage) sections.add(prof_format::kCoverageSection, map, encode_coverage(*contents.coverage));
  if (has_sections)
    write_symbols(sections, kept, image_, contents.copies, contents.thunks,
                  imports_ ? std::vector<Runtime::Function>() : runtime_.functions(), tls_ ? tls_->size() : 0);
  FileOffset after(align_up(placement_.file_offset(segments().back()->end()).value, 8));
  const FileOffset payload = payload_start(image_);
  const ByteView payload_bytes = image_.file().subspan(payload.value);
  // Headers that are not aligned to 8 bytes would be worse than pages of the payload that are not.
  if (!payload_bytes.empty() && payload.value % 8 == 0)
    after += (payload.value - (after.value + sections.size())) % kPage;
  Bytes unmapped = sections.write(after, elf);
  put(kept, 0, elf);

  std::vector<FilePart> file;
  auto add = [&](Segment& s) {
    if (!s.empty()) file.push_back({placement_.file_offset(s.start()), s.take()});
  };
  file.push_back({FileOffset(0), std::move(kept)});
  add(writable_);
  for (Segment& s : runtime_.segments()) add(s);
  for (Segment* s : {&read_only_, &code_, &counters_, &tail_}) add(*s);
  write_build_id(file);
  file.push_back({after, std::move(unmapped)});
  if (!payload_bytes.empty())
    file.push_back({after + file.back().bytes.size(), Bytes(payload_bytes.begin(), payload_bytes.end())});
  return file;
}

// Computed from all that is mapped, without the hole. It need not resist attacks, so a quick hash is enough.
void ProgramLayout::write_build_id(std::vector<FilePart>& mapped) const {
  const FileOffset at = notes_.build_id_at(placement_);
  FilePart& part = *std::prev(std::ranges::upper_bound(mapped, at, {}, &FilePart::at));
  const std::span<uint8_t> id = std::span(part.bytes).subspan(at - part.at, notes_.build_id_size());
  std::ranges::fill(id, uint8_t(0));
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> hash(XXH3_createState(), XXH3_freeState);
  XXH3_128bits_reset(hash.get());
  FileOffset end(0);
  for (const FilePart& p : mapped) {
    if (end == FileOffset(kept_)) end = placement_.offset;
    const Bytes padding(p.at - end);
    XXH3_128bits_update(hash.get(), padding.data(), padding.size());
    XXH3_128bits_update(hash.get(), p.bytes.data(), p.bytes.size());
    end = p.at + p.bytes.size();
  }
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(hash.get()));
  for (uint64_t i = 0; i < id.size(); ++i) id[i] = digest.digest[i % sizeof digest.digest];
}

}  // namespace

NewAddr Layout::counters_start(uint64_t text_size) const {
  return NewAddr(align_up((text() + text_size).value, kPage));
}

NewAddr Layout::read_only_start(uint64_t text_size, uint32_t counters) const {
  return NewAddr(align_up((counters_start(text_size) + counters * sizeof(uint64_t)).value, kPage));
}

std::unique_ptr<Layout> Layout::begin(const Image& image, const RuntimeFile& runtime, const LinkerWishes& wishes,
                                      bool counts_blocks, Place place) {
  return std::make_unique<ProgramLayout>(image, runtime, wishes, counts_blocks, place);
}

}  // namespace profld
