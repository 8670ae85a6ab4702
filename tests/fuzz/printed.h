// What is printed for a terminal, whatever the input: no control character but newline and tab, whether of ASCII or of
// Unicode.

#ifndef TESTS_FUZZ_PRINTED_H
#define TESTS_FUZZ_PRINTED_H

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace fuzz {

// A stream that looks at what was written to it in the end.
class Printed {
 public:
  Printed() : stream(open_memstream(&bytes_, &size_)) {
    if (!stream) std::abort();
  }
  Printed(const Printed&) = delete;
  ~Printed() {
    std::fclose(stream);
    check({bytes_, size_});
    std::free(bytes_);
  }

  static void check(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      const bool is_ascii_control = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f;
      const bool is_c1_control = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
      if (is_ascii_control || is_c1_control) std::abort();
    }
  }

  std::FILE* const stream;

 private:
  char* bytes_ = nullptr;
  size_t size_ = 0;
};

// What is said on standard error goes to another stream as long as this lives.
class Messages {
 public:
  Messages() { stderr = said_.stream; }
  Messages(const Messages&) = delete;
  ~Messages() { stderr = saved_; }

 private:
  Printed said_;
  std::FILE* const saved_ = stderr;
};

}  // namespace fuzz

#endif
