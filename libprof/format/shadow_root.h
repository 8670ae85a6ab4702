// The shadow root: a folder with rewritten copies of the libraries of a program, each at its own path below it, as if
// it were the root of all files; and of the program. prof run --libs makes it; the audit library (libprof/audit/) leads
// the dynamic linker to the copies.
//
//   ROOT/libprof-audit.so       the audit library; where it lies tells it ROOT
//   ROOT/usr/lib/libz.so.1      the copy of /usr/lib/libz.so.1, or a link to that if it is used as it is
//   ROOT/.known/IDENTITY        for each file that prof looked at, a link to its copy (../usr/lib/libz.so.1); or, if
//                               the file is used as it is, to the file itself (/usr/lib/libicudata.so.72)
//   ROOT/.program/usr/bin/lua   the copy of the program /usr/bin/lua. It is in a root of its own: a program that finds
//                               out where its file lies may take what lies around it for what it was installed with,
//                               and must not find its libraries there without all the rest
//   ROOT/.seen                  files that a program loaded and that are not among the known: their paths, each ended
//                               by a NUL
//
// A file goes by many names: relative ones, links, /lib for /usr/lib. Two copies of one library in a process would make
// a wrong program, so it is not the name that leads to a copy but what the file is: IDENTITY is made of its device,
// inode, size and the time of its last change (ctime, which nobody can set: another file may get the inode of one that
// is gone, and have its size and its mtime). A library that was upgraded since has no copy until there is a new one.
//
// One that is made for another machine (profld --libs) is known by names alone: it has no ROOT/.known, but, for the
// names by which libraries are asked for that are no paths,
//
//   ROOT/.names/libz.so.1       a link to the file below ROOT: ../usr/lib/libz.so.1
//
// and the files that are used as they are, not links to them.

#ifndef LIBPROF_FORMAT_SHADOW_ROOT_H
#define LIBPROF_FORMAT_SHADOW_ROOT_H

#include <stddef.h>
#include <stdint.h>

namespace prof_format {

inline constexpr char kAuditLibrary[] = "libprof-audit.so";
inline constexpr char kKnownDirectory[] = ".known";
inline constexpr char kNamesDirectory[] = ".names";
inline constexpr char kProgramDirectory[] = ".program";
inline constexpr char kSeenFile[] = ".seen";

// What tells a file from all others, and from what it was before it was written to.
struct FileIdentity {
  uint64_t device, inode, size;
  uint64_t seconds, nanoseconds;  // ctime
};

// With the terminating zero.
inline constexpr size_t kIdentityText = 5 * 17;

// Writes the name in ROOT/.known.
inline void identity_text(const FileIdentity& identity, char (&text)[kIdentityText]) {
  const uint64_t parts[] = {identity.device, identity.inode, identity.size, identity.seconds, identity.nanoseconds};
  char* at = text;
  for (uint64_t part : parts) {
    int digit = 60;
    while (digit > 0 && !(part >> digit)) digit -= 4;
    for (; digit >= 0; digit -= 4) *at++ = "0123456789abcdef"[part >> digit & 15];
    *at++ = '-';
  }
  at[-1] = 0;
}

}  // namespace prof_format

#endif
