// What a copy asks of the dynamic linker that it did not ask for before.

#ifndef LINKER_REWRITE_WRITE_LINKER_WISHES_H
#define LINKER_REWRITE_WRITE_LINKER_WISHES_H

#include <string>

namespace profld {

// A dynamic program's, beside the need for libprof.so. Nothing where a text is empty.
struct LinkerWishes {
  std::string audit;        // for DT_AUDIT: a library
  bool traces = false;      // it needs the runtime's function for full windows (profld --trace), too
  std::string search_path;  // folders with colons between them, which are searched before those that the program names
};

}  // namespace profld

#endif
