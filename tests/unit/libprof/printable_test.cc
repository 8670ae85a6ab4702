#include "libprof/printable.h"

#include <doctest/doctest.h>

using prof_text::is_printable;
using prof_text::printable;
using prof_text::shortened;

TEST_CASE("what can be printed is printed as it is") {
  const std::string text = "operator new[](unsigned long), caf\u00e9 \u65e5\u672c \U0001f600 a\u00a0b";
  CHECK(printable(text) == text);
  CHECK(is_printable(text));
  CHECK(printable("") == "");
}

TEST_CASE("control characters are escaped, and backslashes, so that no two texts look alike") {
  CHECK(printable("\x1b[2J") == "\\x1b[2J");
  CHECK(printable(std::string_view("a\nb\tc\rd\0e\x7f", 10)) == "a\\x0ab\\x09c\\x0dd\\x00e\\x7f");
  CHECK(printable("\\x1b") == "\\\\x1b");
  CHECK(printable("\u009b31m") == "\\xc2\\x9b31m");
  CHECK(printable("\u2028\u202e\u2066") == "\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xe2\\x81\\xa6");
  CHECK(!is_printable("\u0080"));
  CHECK(is_printable("\\"));
}

TEST_CASE("what is no UTF-8 is escaped byte by byte") {
  CHECK(printable("\x9b"
                  "31m") == "\\x9b31m");
  CHECK(printable("a\xc3") == "a\\xc3");
  CHECK(printable("\xc3(") == "\\xc3(");
  CHECK(printable("\xc0\x8a") == "\\xc0\\x8a");                    // a newline, too long
  CHECK(printable("\xe0\x80\x9b") == "\\xe0\\x80\\x9b");           // too long
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // half of a surrogate pair
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond the last
  CHECK(printable("\xf0\x9f\x98"
                  "a") ==
        "\\xf0\\x9f\\x98"
        "a");  // cut off
}

TEST_CASE("a text that is shortened ends with a whole character") {
  CHECK(shortened("caf\u00e9s", 9) == "caf\u00e9s");
  CHECK(shortened("caf\u00e9s", 5) == "caf\u00e9");
  CHECK(shortened("caf\u00e9s", 4) == "caf");
  CHECK(shortened("\u00e9", 1) == "");
}
