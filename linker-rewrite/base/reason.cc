#include "reason.h"

#include <cstdio>

namespace profld {

std::string text_of(const Reason& reason) {
  constexpr std::string_view kAddress = "...";
  std::string s(words_of(reason.code));
  char address[24];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(reason.at.value));
  if (const size_t place = s.find(kAddress); place != std::string::npos) s.replace(place, kAddress.size(), address);
  return s;
}

}  // namespace profld
