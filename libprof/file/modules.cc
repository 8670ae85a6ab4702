// We find modules in memory. The auxiliary vector says where the program's own headers are; a rewritten library tells
// of its own (libraries.cc); those of a library that was compiled with hooks are at the start of its first mapping,
// which /proc/self/maps lists with its path. Only files that call hooks are listed: the first pc from a file that is
// not on the list puts it there. Nothing in the headers is trusted beyond the mapped range, since the loader has
// accepted them but parts may not be mapped.

#include "modules.h"

#include <elf.h>

#include "file.h"
#include "libprof/data/heavy.h"
#include "libprof/kernel/mappings.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"

namespace libprof {

namespace {

constexpr uint64_t kAllModules = ~uint64_t(0);
constexpr uint64_t kUnknownReach = uint64_t(1) << 20;  // bytes around a pc that no file accounts for

bool has_unknown_code;  // hooks were called from where no module is known

// Two threads may each find a module at the same time, so the list has no order that could be used to end it, see
// frames.h.
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

void list_program(const Object& program) {
  char path[4096];
  const int64_t n =
      syscall4(__NR_readlinkat, uint64_t(kCurrentDirectory), as_word("/proc/self/exe"), as_word(path), sizeof path - 1);
  path[n > 0 ? n : 0] = 0;
  list(program, path);
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
