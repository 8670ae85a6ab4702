#include "reason.h"

#include "linker-rewrite/text/hexadecimal.h"

namespace profld {

std::string text_of(const Reason& reason) {
  constexpr std::string_view kAddress = "...";
  std::string s(words_of(reason.code));
  if (const size_t place = s.find(kAddress); place != std::string::npos)
    s.replace(place, kAddress.size(), prof_text::hexadecimal(reason.at.value));
  return s;
}

}  // namespace profld
