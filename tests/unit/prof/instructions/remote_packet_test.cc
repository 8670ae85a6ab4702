#include <doctest/doctest.h>
#include <signal.h>

#include <string>

#include "linker-rewrite/text/numbers.h"
#include "prof/instructions/remote/gdbserver_client.h"
#include "prof/instructions/remote/packet.h"
#include "prof/instructions/remote/target_client.h"

using namespace prof::remote;

TEST_CASE("packet: what is framed is read again") {
  std::string all;
  for (int c = 0; c < 256; ++c) all.push_back(char(c));
  PacketReader reader;
  reader.add("+" + framed(all) + framed("") + "-\x03");
  CHECK(reader.next() == Received::acknowledged);
  REQUIRE(reader.next() == Received::packet);
  CHECK(reader.payload() == all);
  REQUIRE(reader.next() == Received::packet);
  CHECK(reader.payload().empty());
  CHECK(reader.next() == Received::refused);
  CHECK(reader.next() == Received::interrupt);
  CHECK(reader.next() == Received::nothing);
}

TEST_CASE("packet: bytes may come one by one, and repetitions are undone") {
  const std::string sent = "$0* 1#";  // 0, three more of it, 1
  unsigned sum = 0;
  for (const char c : sent.substr(1, 4)) sum += uint8_t(c);
  PacketReader reader;
  for (const char c : sent + prof_text::hexadecimal_of(std::string(1, char(sum)))) {
    CHECK(reader.next() == Received::nothing);
    reader.add({&c, 1});
  }
  REQUIRE(reader.next() == Received::packet);
  CHECK(reader.payload() == "00001");
}

TEST_CASE("packet: damage is told, and what comes after it is read") {
  for (const char* damaged : {"$a#00", "$a#zz", "$*!#4b", "$}#7d", "$a*\x01#8c"}) {
    PacketReader reader;
    reader.add(damaged + framed("b"));
    CHECK(reader.next() == Received::damaged);
    CHECK(reader.next() == Received::packet);
  }
  PacketReader reader;
  reader.add("$" + std::string(kLongestPayload + 2, 'a'));
  CHECK(reader.next() == Received::damaged);
}

TEST_CASE("packet: numbers and digits") {
  std::string_view text = "1fg";
  CHECK(take_number(text) == 0x1f);
  CHECK(text == "g");
  CHECK(!take_number(text));
  text = "fffffffffffffffff";  // 17 digits
  CHECK(!take_number(text));
  CHECK(from_hex("0aFf") == std::string("\x0a\xff"));
  CHECK(!from_hex("0"));
  CHECK(!from_hex("0g"));
}

TEST_CASE("packet: how a program ended") {
  CHECK(end_of("W07")->status == 7);
  CHECK(end_of("W07;process:1a")->kind == TracedEnd::Kind::exit);
  CHECK(end_of("X0b")->kind == TracedEnd::Kind::signal);
  CHECK(!end_of("W"));
  CHECK(!end_of("W100"));
  CHECK(!end_of("T05"));
}

TEST_CASE("packet: a target describes its registers, in files that include others") {
  const auto file = [](const std::string& name) -> std::string {
    if (name == "target.xml") return "<target><xi:include href=\"core\"/><xi:include href=\"target.xml\"/></target>";
    std::string text;
    for (const char* reg : {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
                            "r13", "r14", "r15", "rip"})
      text += std::string("<reg name=\"") + reg + "\" bitsize=\"64\"/>\n";
    return text +
           "<reg name=\"eflags\" bitsize=\"32\" type=\"f\"/><reg name=\"gs_base\" regnum=\"40\" bitsize=\"64\"/>" +
           "<reg name=\"fs_base\"\nregnum=\"30\" bitsize=\"64\"/><reg name=\"broken";
  };
  const TargetDescription description(file);
  std::string bytes(17 * 8 + 4 + 16, '\0');
  bytes[8 * 16] = 5;           // rip
  bytes[8 * 17 + 1] = '\xff';  // eflags
  bytes[8 * 17 + 4] = 7;       // fs_base
  bytes[8 * 17 + 4 + 8] = 9;   // gs_base
  Registers registers;
  REQUIRE(description.read(bytes, registers));
  CHECK(registers[reg_rip] == 5);
  CHECK(registers[reg_flags] == kDirectionFlag);
  CHECK(registers[reg_fs_base] == 7);
  CHECK(registers[reg_gs_base] == 9);
  bytes.pop_back();
  CHECK(!description.read(bytes, registers));
  CHECK_THROWS_WITH(
      TargetDescription([](const std::string&) { return std::string(); }),
      "gdbserver: does not tell of the register rax; it may be too old: use prof trace without gdbserver");
}

TEST_CASE("packet: signals have other numbers in the protocol than for Linux") {
  CHECK(to_protocol_signal(SIGUSR1) == 30);
  CHECK(to_protocol_signal(SIGBUS) == 10);
  CHECK(to_protocol_signal(SIGSEGV) == 11);
  CHECK(to_protocol_signal(SIGCHLD) == 20);
  CHECK(to_protocol_signal(33) == 45);
  CHECK(to_protocol_signal(63) == 75);
  CHECK(to_protocol_signal(1000) == 143);
  CHECK(from_protocol_signal(7) == 0);
  for (int signal = 0; signal <= 64; ++signal) CHECK(from_protocol_signal(to_protocol_signal(signal)) == signal);
  CHECK(end_of("X1e")->status == SIGUSR1);
}
