// The copy of a program, alone or with copies of its libraries; and how it finds the libraries that its original finds
// by where that lies.

#ifndef PROF_COMMANDS_COPIES_PROGRAM_COPY_H
#define PROF_COMMANDS_COPIES_PROGRAM_COPY_H

#include <string>
#include <vector>

#include "library_copies.h"
#include "prof/commands/options/options.h"

namespace prof {

// Path of the rewritten copy of `program`, made with profld unless it is there from an earlier time. profld says on
// standard error why it cannot rewrite a program; then the result is "". Throws Error for other failures.
std::string rewritten_copy(const std::string& program, const Options& options);

// Whether copies made with these options call no hooks; then they need the runtime that learns of threads without any.
bool has_no_hooks(const Options& options);

// The options of prof run --type time, instead of those of --type auto, and the other way round.
Options with_or_without_hooks(Options options);

// Where the runtime of copies lies that are made with these options.
std::string runtime_beside(const std::string& profld, const Options& options);

// The same of a copy without hooks, of which each thread samples itself (libprof/sampler/threads.cc).
std::string sampling_copy(const std::string& program);

// Makes the file `copy`, with the user's options of profld and with `more`. If the options choose no function of the
// program, or only those of libraries are to be profiled, its functions call no hooks; but the copy is made, since the
// program has to be started, and its libraries be loaded, in the same way. False if profld refused, which it says on
// standard error.
bool make_copy_of_program(const std::string& original, std::vector<std::string> more, UnhookedFunctions& unhooked,
                          const Options& options, const std::string& copy);

// Room for thread-local variables of libraries that a program is started with: see tunables_for in program_copy.cc.

// What the environment variable GLIBC_TUNABLES, which is `present` now ("" if it is not there), has to be for a program
// that is audited (DT_AUDIT) and loads these libraries (paths). "" if it need not change.
std::string tunables_for(const std::vector<std::string>& libraries, const std::string& present);

// How the copy of a program, which lies in the cache, finds the libraries that its original finds by where its own file
// lies ($ORIGIN in DT_RUNPATH or DT_RPATH).
//
// Ways. Mostly the folder is written out, and searched first. But a colon in its name would end it there, and a dollar
// may begin a word that is replaced; nothing takes their meaning from them. Such a program is audited, where its
// dynamic linker lets it: its copy lies at the original's path below a folder of its own, in whose name the linker
// replaces nothing, and the audit library (libprof/audit/) takes that folder's name off the paths again. So all files
// have the names that they have for the original. Of other linkers (musl's), it is led by a link with a plain name,
// which stands in the names of its libraries.
class Origin {
 public:
  // `program`: a path, maybe of no program. `audit_library`: where that is installed.
  Origin(const std::string& program, std::string audit_library);

  // What a copy depends on by this.
  std::vector<std::string> contents() const;

  // Makes what the copy needs in its folder in the cache, which must be there. Sets where in it the copy belongs, and
  // what profld is told for it. Throws Error.
  void prepare(const std::string& folder, std::string& copy, std::vector<std::string>& options) const;

  // The dynamic linker is audited for it.
  bool is_audited() const { return is_audited_; }

 private:
  std::string program_, folder_, audit_library_;  // program_: absolute, without links in it
  bool depends_ = false, is_audited_ = false;
};

// The folder of a program by a name that can be listed (can_be_listed): its own, or a link that is made in this folder.
std::string listable_folder(const std::string& program, const std::string& folder_for_link);

}  // namespace prof

#endif
