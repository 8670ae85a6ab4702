#include "prof/views/text/json_writer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/unit/prof_printed.h"

TEST_CASE("json: commas and lines come where they have to") {
  const std::string text = prof_test::printed([](prof::Output& out) {
    prof::JsonWriter json(out);
    json.begin_object();
    json.member("text", "a");
    json.member("yes", true);
    json.member("least", INT64_MIN);
    json.member("most", UINT64_MAX);
    json.name("none");
    json.null();
    json.begin_array("empty");
    json.end_array();
    json.new_line();
    json.begin_array("list");
    for (int i = 0; i < 2; ++i) {
      json.new_line();
      json.begin_object();
      json.member("i", i);
      json.end_object();
    }
    json.value("last");
    json.end_array();
    json.any_name("\"");
    json.begin_object();
    json.member("tenth", 0.1);
    json.member("large", 1e300);
    json.name("places");
    json.value(1, 2);
    json.end_object();
    json.end_object();
  });
  CHECK(text ==
        "{\"text\":\"a\",\"yes\":true,\"least\":-9223372036854775808,\"most\":18446744073709551615,\"none\":null,"
        "\"empty\":[],\n\"list\":[\n{\"i\":0},\n{\"i\":1},\"last\"],"
        "\"\\\"\":{\"tenth\":0.1,\"large\":1e+300,\"places\":1.00}}");
}

TEST_CASE("json: any bytes become a text") {
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes.push_back(char(c));
  for (const std::string& text : {std::string(), std::string("main"), std::string("\"\\/"),
                                  std::string("gr\u00f6\u00dfe"), std::string("\x7f"), bytes}) {
    const std::string quoted = prof_test::printed([&](prof::Output& out) { prof::JsonWriter(out).value(text); });
    CHECK(quoted == nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  }
}
