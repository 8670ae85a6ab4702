#include "debug_files.h"

#include <lzma.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "linker-rewrite/text/numbers.h"
#include "notes.h"

namespace profld {

namespace {

// The folders in which debuginfod's client may keep what it fetched, as debuginfod_find_debuginfo(3) has it.
std::vector<std::string> debuginfod_caches() {
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (const std::string cache = variable("DEBUGINFOD_CACHE_PATH"); !cache.empty()) return {cache};
  std::vector<std::string> caches;
  const std::string home = variable("HOME"), cache = variable("XDG_CACHE_HOME");
  if (!home.empty())
    caches.push_back(home + "/.debuginfod_client_cache");  // of older versions; it is used if it is there
  if (!cache.empty())
    caches.push_back(cache + "/debuginfod_client");
  else if (!home.empty())
    caches.push_back(home + "/.cache/debuginfod_client");
  return caches;
}

}  // namespace

void read_debuglink(std::string_view section, DebugLink& link) {
  const size_t end = section.find('\0');
  const size_t crc_at = end == std::string_view::npos ? end : (end + 4) / 4 * 4;  // after the NUL, at a multiple of 4
  if (crc_at > section.size() || section.size() - crc_at < sizeof link.crc) return;
  // A name, not a path: else a program could have any file be read.
  const std::string_view name = section.substr(0, end);
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos) return;
  link.name = name;
  std::memcpy(&link.crc, section.data() + crc_at, sizeof link.crc);
}

std::vector<DebugFilePlace> places_of_debug_file(const DebugLink& link, std::vector<std::string> folders,
                                                 const std::vector<std::string>& beside) {
  folders.emplace_back(kDebugFolder);
  std::vector<DebugFilePlace> places;
  const std::string digits = prof_text::hexadecimal_of(link.build_id);
  const bool has_build_id = link.build_id.size() >= 2;
  if (has_build_id) {
    for (const std::string& folder : folders)
      places.push_back({folder + "/.build-id/" + digits.substr(0, 2) + "/" + digits.substr(2) + ".debug", false});
  }
  if (!link.name.empty()) {
    for (const std::string& folder : beside) {
      places.push_back({folder + "/" + link.name, true});
      places.push_back({folder + "/.debug/" + link.name, true});
    }
    for (const std::string& folder : folders) {
      for (const std::string& program_folder : beside) {
        std::error_code error;
        const auto absolute = std::filesystem::weakly_canonical(program_folder.empty() ? "." : program_folder, error);
        if (!error) places.push_back({folder + absolute.string() + "/" + link.name, true});
      }
      places.push_back({folder + "/" + link.name, true});
    }
  }
  if (has_build_id)
    for (const std::string& cache : debuginfod_caches()) places.push_back({cache + "/" + digits + "/debuginfo", false});
  return places;
}

bool has_crc(const std::string& path, uint32_t crc) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (!file) return false;
  std::vector<unsigned char> buffer(1 << 16);
  uLong sum = crc32(0, nullptr, 0);
  for (size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), file)) > 0;) sum = crc32(sum, buffer.data(), uInt(n));
  const bool is_read = !std::ferror(file);
  std::fclose(file);
  return is_read && sum == crc;
}

std::optional<std::string> unpack_xz(std::string_view packed) {
  // A thousand times of what the largest programs have: a few bytes can be made to unpack to any number.
  constexpr size_t kMax = size_t(256) << 20;
  constexpr uint64_t kMemory = uint64_t(256) << 20;
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMemory, 0) != LZMA_OK) return {};
  std::string bytes;
  std::vector<uint8_t> buffer(1 << 16);
  stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && bytes.size() <= kMax) {
    stream.next_out = buffer.data();
    stream.avail_out = buffer.size();
    result = lzma_code(&stream, LZMA_FINISH);
    bytes.append(reinterpret_cast<const char*>(buffer.data()), buffer.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (result != LZMA_STREAM_END || bytes.size() > kMax) return {};
  return bytes;
}

}  // namespace profld
