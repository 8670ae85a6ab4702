// Uses libraries of the system: zlib, the mathematical library, the C++ library with an exception.
#include <zlib.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
int main() {
  unsigned char data[4000], packed[5000];
  unsigned long sum = 0;
  for (int i = 0; i < 100; ++i) {
    std::memset(data, i, sizeof data);
    sum = crc32(sum, data, sizeof data);
  }
  for (int i = 0; i < 10; ++i) {
    uLongf size = sizeof packed, full = sizeof data;
    if (compress2(packed, &size, data, sizeof data, i) != Z_OK || uncompress(data, &full, packed, size) != Z_OK)
      return 1;
    sum += size;
  }
  double total = 0;
  for (volatile int i = 0; i < 30; i = i + 1) total += std::tgamma(i / 3.0 + 1) + std::lgamma(i + 0.5);
  std::map<std::string, int> words;
  std::istringstream text("to be or not to be");
  for (std::string word; text >> word;) ++words[word];
  for (const auto& [word, n] : words) std::printf("%s %d\n", word.c_str(), n);
  try {
    std::string().at(1);
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
  }
  std::printf("%lx %.15g\n", sum, total);
  return 5;
}
