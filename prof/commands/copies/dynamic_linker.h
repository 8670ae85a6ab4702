// What a program's dynamic linker tells of it, without running any of its code.

#ifndef PROF_COMMANDS_COPIES_DYNAMIC_LINKER_H
#define PROF_COMMANDS_COPIES_DYNAMIC_LINKER_H

#include <string>
#include <vector>

namespace prof {

// Whether a dynamic linker (a path) loads libraries that audit it, and asks these about each file. glibc's does from
// version 2.33 on; musl's does not.
bool can_be_audited(const std::string& linker);

// Whether a dynamic linker is musl's, which is the C library as well.
bool is_musl(const std::string& linker);

// Whether a path can be written where the dynamic linker reads a list of them: a colon ends one, and words with a
// dollar are replaced.
bool can_be_listed(const std::string& path);

// Throws Error if that is so for a folder of the cache.
void check_listable(const std::string& folder);

// Whether where a program has its libraries searched depends on the place of its file ($ORIGIN).
bool depends_on_place(const std::string& program);

// Where a program has its libraries searched, with colons between the folders and what depends on the place of its file
// ($ORIGIN) written out: a copy elsewhere finds the same there. "" if nothing depends on that. `folder`: another path
// of the folder that the program is in.
std::string search_path_from_elsewhere(const std::string& program, const std::string& folder);

// Paths of the libraries that the program would be started with here and now, as the dynamic linker names them, and in
// the order in which it would load them. Those that it does not find are left out.
std::vector<std::string> libraries_of(const std::string& program, const std::string& linker);

// The paths in what a dynamic linker printed when it was to list a program's libraries.
std::vector<std::string> listed_libraries(const std::string& output);

}  // namespace prof

#endif
