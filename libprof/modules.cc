// We find modules in memory. The auxiliary vector says where the program's own headers are; a rewritten library tells of
// its own (libraries.cc); those of a library that was compiled with hooks are at the start of its first mapping, which
// /proc/self/maps lists with its path. Only files that call hooks are listed: the first pc from a file that is not on
// the list puts it there. Nothing in the headers is trusted beyond the mapped range, since the loader has accepted them
// but parts may not be mapped.

#include "modules.h"

#include <elf.h>

#include "block_counters.h"
#include "file.h"
#include "heavy.h"
#include "hook_selection.h"
#include "libprof/format/map.h"
#include "settings.h"
#include "syscall.h"
#include "text.h"
#include "trace.h"

namespace libprof {

namespace {

constexpr uint64_t kAuxHeaders = 3, kAuxHeaderCount = 5;
constexpr uint64_t kAllModules = ~uint64_t(0);
constexpr uint64_t kUnknownReach = uint64_t(1) << 20;  // bytes around a pc that no file accounts for

// The words through which a program calls the hooks; null if it does not say.
uint64_t* find_hook_words(const Elf64_Phdr* headers, uint64_t count, const Object& object) {
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t at = object.bias + headers[i].p_vaddr, size = headers[i].p_memsz;
    if (headers[i].p_type != PT_DYNAMIC || at < object.start || at + size > object.end) continue;
    auto* entry = reinterpret_cast<const Elf64_Dyn*>(at);
    for (uint64_t left = size / sizeof *entry; left != 0 && entry->d_tag != DT_NULL; --left, ++entry) {
      if (entry->d_tag == prof_format::kHooksTag) return reinterpret_cast<uint64_t*>(object.bias + entry->d_un.d_ptr);
    }
  }
  return nullptr;
}

bool has_unknown_code;  // hooks were called from where no module is known

// Two threads may each find a module at the same time, so the list has no order that could be used to end it, see
// state.h.
uint64_t most_modules() { return at<Header>(process->base, 0)->blocks_used; }

Block list(const Object& object, const char* path) {
  const uint64_t path_size = length_of(path);
  const Block block = take_blocks((sizeof(Module) + path_size + PROF_BLOCK_SIZE - 1) / PROF_BLOCK_SIZE);
  if (block == 0) return 0;
  char* base = process->base;
  auto* module = at<Module>(base, block);
  module->path_size = uint32_t(path_size);
  module->bias = object.bias;
  module->start = object.start;
  module->end = object.end;
  module->build_id_size = object.build_id_size;
  memcpy(module->build_id, object.build_id, object.build_id_size);
  memcpy(module + 1, path, path_size);
  ordered();
  // At the end of the list: the program stays the first.
  Block* link = &at<Header>(base, 0)->first_module;
  lock(&process->lock);
  for (uint64_t left = most_modules(); *link != 0 && left != 0; --left) link = &at<Module>(base, *link)->next;
  *link = block;
  unlock(&process->lock);
  return block;
}

const Module* find_listed(uint64_t pc) {
  char* base = process->base;
  Block b = at<Header>(base, 0)->first_module;
  for (uint64_t left = most_modules(); b != 0 && left != 0; --left, b = at<Module>(base, b)->next) {
    auto* module = at<Module>(base, b);
    if (pc >= module->start && pc < module->end) return module;
  }
  return nullptr;
}

struct FileMapping {
  uint64_t start, end;  // of the mapping of the file's beginning
  char path[4096];
};

// The last file whose beginning is mapped before `address`, if `address` lies in a mapping.
bool find_file(uint64_t address, FileMapping* file) {
  LineReader maps("/proc/self/maps");
  file->start = 0;
  file->path[0] = 0;
  uint64_t last = 0;
  while (const char* p = maps.next()) {
    const uint64_t start = parse_hex(&p);
    if (*p++ != '-') continue;
    const uint64_t end = parse_hex(&p);
    if (start > address) break;
    last = end;
    if (p[0] != ' ' || p[1] != 'r') continue;
    p += 6;  // " r-xp "
    const uint64_t offset = parse_hex(&p);
    while (*p != 0 && *p != '/') ++p;
    if (offset != 0 || *p != '/' || equal(p, file->path)) continue;
    Line(file->path, sizeof file->path) << p;
    file->start = start;
    file->end = end;
  }
  return file->start != 0 && address < last;
}

// Bias of an object that is mapped from `start` on.
uint64_t bias_of(const Elf64_Phdr* headers, uint64_t count, uint64_t start) {
  uint64_t lowest = ~uint64_t(0);
  for (uint64_t i = 0; i < count; ++i) {
    const Elf64_Phdr& h = headers[i];
    if (h.p_type == PT_LOAD && h.p_memsz != 0 && h.p_vaddr < lowest) lowest = h.p_vaddr;
  }
  return start - (lowest & ~(kPage - 1));
}

void list_file_at(uint64_t pc) {
  FileMapping file;
  if (!find_file(pc, &file)) return;
  auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.start);
  const uint64_t size = file.end - file.start;
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(Elf64_Phdr) ||
      header->e_phoff > size || header->e_phnum > (size - header->e_phoff) / sizeof(Elf64_Phdr)) {
    return;
  }
  auto* headers = reinterpret_cast<const Elf64_Phdr*>(file.start + header->e_phoff);
  const Object object = describe_object(headers, header->e_phnum, bias_of(headers, header->e_phnum, file.start));
  if (pc >= object.start && pc < object.end) list(object, file.path);
}

// `pc`: an address in it.
Block list_with_path(const Object& object, uint64_t pc) {
  FileMapping file;
  return list(object, find_file(pc, &file) ? file.path : "");
}

// The program's own, in memory.
struct ProgramHeaders {
  const Elf64_Phdr* start = nullptr;
  uint64_t count = 0;  // 0: they were not found
  uint64_t bias = 0;
};

ProgramHeaders find_program() {
  auto* headers = reinterpret_cast<const Elf64_Phdr*>(auxiliary_value(kAuxHeaders));
  const uint64_t count = auxiliary_value(kAuxHeaderCount);
  if (!headers || count == 0 || count > 1000) return {};
  const Elf64_Phdr* own = nullptr;
  for (uint64_t i = 0; i < count; ++i) {
    if (headers[i].p_type == PT_PHDR) own = &headers[i];
  }
  if (own) return {headers, count, as_word(headers) - own->p_vaddr};
  // A static program need not have PT_PHDR.
  FileMapping file;
  if (!find_file(as_word(headers), &file)) return {};
  return {headers, count, bias_of(headers, count, file.start)};
}

uint64_t note_module(State* s, uint64_t pc) {
  const Module* module = find_listed(pc);
  if (!module) {
    Object object;
    if (find_object(pc, &object))
      list_with_path(object, pc);
    else
      list_file_at(pc);
    module = find_listed(pc);
    if (!module) has_unknown_code = true;
  }
  // Code that belongs to no file (compiled at run time) is not searched for again at each of its nodes.
  s->module_start = module ? module->start : pc < kUnknownReach ? 0 : pc - kUnknownReach;
  s->module_end = module ? module->end : pc + kUnknownReach;
  s->thread->modules |= module ? module_bit(block_of(s, module)) : kAllModules;
  return 1;
}

}  // namespace

Object list_program() {
  const ProgramHeaders program = find_program();
  if (program.count == 0) return {};
  const auto [headers, count, bias] = program;
  const Object object = describe_object(headers, count, bias);
  if (uint64_t* words = find_hook_words(headers, count, object)) set_program_words(words);
  find_block_counters(headers, count, bias);
  find_trace_segment(headers, count, bias);
  remember_object(object);
  char path[4096];
  const int64_t n =
      syscall4(__NR_readlinkat, uint64_t(kCurrentDirectory), as_word("/proc/self/exe"), as_word(path), sizeof path - 1);
  path[n > 0 ? n : 0] = 0;
  list(object, path);
  return object;
}

extern "C" {
[[gnu::visibility("hidden")]] extern const Elf64_Ehdr __ehdr_start;
[[gnu::visibility("hidden")]] extern const char _end[];
}

bool has_program_another_runtime() {
  const auto [headers, count, bias] = find_program();
  const uint64_t* words = count != 0 ? find_hook_words(headers, count, describe_object(headers, count, bias)) : nullptr;
  if (!words || load(words) == 0) return false;  // an audit library's runtime is there before the program is relocated
  return load(words) < as_word(&__ehdr_start) || load(words) >= as_word(_end);
}

void find_program_trace() {
  const ProgramHeaders program = find_program();
  find_trace_segment(program.start, program.count, program.bias);
}

void list_if_called(const Object& object) {
  if (has_unknown_code) list_with_path(object, object.code_start);
}

Block list_object(const Object& object, const char* path) {
  char* base = process->base;
  Block b = at<Header>(base, 0)->first_module;
  for (uint64_t left = most_modules(); b != 0 && left != 0; --left, b = at<Module>(base, b)->next) {
    if (is_same(*at<Module>(base, b), object)) return b;
  }
  return path ? list(object, path) : list_with_path(object, object.code_start);
}

bool is_in_listed_module(uint64_t address) { return find_listed(address) != nullptr; }

void note_module_of(State* s, uint64_t pc) {
  if (pc >= s->module_start && pc < s->module_end) return;
  if (!run_heavy(s, note_module, pc)) s->thread->modules = kAllModules;
}

}  // namespace libprof
