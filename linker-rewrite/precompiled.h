// Headers that are not ours, of those that many sources include: g++ reads them once for all of profld and prof.
// Without it compiling takes a quarter longer. The Makefile and the mkfile put it in front of each source.
//
// It is no header to lean on: each source includes what it uses, since clang, clang-tidy, the sanitizers' build and
// libprof do without this one.

#pragma once

#include <Zydis/Zydis.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
