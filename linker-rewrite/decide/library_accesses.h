// What functions of the C library do with the bytes that their arguments point to.

#ifndef LINKER_REWRITE_DECIDE_LIBRARY_ACCESSES_H
#define LINKER_REWRITE_DECIDE_LIBRARY_ACCESSES_H

#include <cstdint>
#include <string_view>
#include <utility>

namespace profld {

// Functions of the C library that read, write or protect the bytes that arguments point to: a bit for each, the first
// is bit 0.
inline constexpr uint8_t kFirst = 1, kSecond = 2, kThird = 4;
inline constexpr uint8_t kProtects = 1 << 7;  // only changes what may be done with the bytes, of whole pages
inline constexpr std::pair<std::string_view, uint8_t> kLibraryAccesses[] = {
    {"__memcpy_chk", kFirst | kSecond},
    {"__memmove_chk", kFirst | kSecond},
    {"__mempcpy_chk", kFirst | kSecond},
    {"__memset_chk", kFirst},
    {"__pread64_chk", kSecond},
    {"__pread_chk", kSecond},
    {"__read_chk", kSecond},
    {"bcmp", kFirst | kSecond},
    {"bcopy", kFirst | kSecond},
    {"bzero", kFirst},
    {"fread", kFirst},
    {"fread_unlocked", kFirst},
    {"fwrite", kFirst},
    {"fwrite_unlocked", kFirst},
    {"madvise", kFirst | kProtects},
    {"memccpy", kFirst | kSecond},
    {"memchr", kFirst},
    {"memcmp", kFirst | kSecond},
    {"memcpy", kFirst | kSecond},
    {"memfrob", kFirst},
    {"memmem", kFirst | kThird},
    {"memmove", kFirst | kSecond},
    {"mempcpy", kFirst | kSecond},
    {"memrchr", kFirst},
    {"memset", kFirst},
    {"mlock", kFirst | kProtects},
    {"mprotect", kFirst | kProtects},
    {"mremap", kFirst | kProtects},
    {"msync", kFirst | kProtects},
    {"munmap", kFirst | kProtects},
    {"pkey_mprotect", kFirst | kProtects},
    {"posix_madvise", kFirst | kProtects},
    {"pread", kSecond},
    {"pread64", kSecond},
    {"ptrace", kThird},
    {"pwrite", kSecond},
    {"pwrite64", kSecond},
    {"rawmemchr", kFirst},
    {"read", kSecond},
    {"recv", kSecond},
    {"recvfrom", kSecond},
    {"send", kSecond},
    {"sendto", kSecond},
    {"swab", kFirst | kSecond},
    {"wmemcmp", kFirst | kSecond},
    {"wmemcpy", kFirst | kSecond},
    {"wmemmove", kFirst | kSecond},
    {"write", kSecond},
};

}  // namespace profld

#endif
