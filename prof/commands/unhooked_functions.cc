#include "unhooked_functions.h"

#include <elf.h>

#include "library_copies.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"

namespace prof {

std::string UnhookedFunctions::imports_option(const std::string& file) {
  std::call_once(are_read_, [&] {
    for (const std::string& library : libraries_) {
      const bool is_rewritten = library != original_ && is_wanted(globs_, library, library);
      try {
        for (const ElfFile elf(library); const Symbol& symbol : elf.symbols())
          if (symbol.type == STT_GNU_IFUNC || !is_rewritten) names_.insert(symbol.name);
      } catch (const Error&) {
        // profld will say so
      }
    }
  });
  std::string list;
  try {
    for (const ElfFile elf(file); const std::string& name : elf.undefined_names())
      if (names_.contains(name)) list += (list.empty() ? "" : ",") + name;
  } catch (const Error&) {
    // as above
  }
  return list.empty() ? "--no-imports" : "--imports=" + list;
}

}  // namespace prof
