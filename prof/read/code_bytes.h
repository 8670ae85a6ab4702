// What files hold of code: its bytes, and the names of the functions of other files that it calls.

#ifndef PROF_READ_CODE_BYTES_H
#define PROF_READ_CODE_BYTES_H

#include <cstdint>
#include <map>
#include <string>

#include "elf_file.h"

namespace prof {

// The bytes of code from an address (link-time) on, fewer than `size` where a section of code ends; empty if the file does
// not have them: skeletons and debug files have none.
std::string code_at(const ElfFile& file, uint64_t address, uint64_t size);

// By the address (link-time) of the word in which the dynamic linker puts a function's address: its name.
std::map<uint64_t, std::string> names_in_got(const ElfFile& file);

}  // namespace prof

#endif
