// Functions that ask where they were called from: in the program's text, in a section, after a variable's address. Told by
// other functions, after a tail call, through a pointer.
#include <stdint.h>
#include <string.h>

#include "calls.h"

extern char __executable_start[], etext[], __start_trusted[], __stop_trusted[];
#define TRUSTED __attribute__((section("trusted")))
#define CALLER ((uintptr_t)__builtin_return_address(0))
static volatile uintptr_t first, behind;
static volatile int sink;
static unsigned char seen[1 << 22];

KEPT static int is_in_text(uintptr_t pc) {
  CALLED("is_in_text");
  return pc >= (uintptr_t)__executable_start && pc < (uintptr_t)etext;
}
KEPT static int is_called_from_text(const char* why, void* pc) {
  CALLED("is_called_from_text");
  sink += *why;
  return is_in_text((uintptr_t)pc - 1);
}
KEPT int asks_itself(void) {
  CALLED("asks_itself");
  uintptr_t pc = CALLER;
  return pc >= (uintptr_t)__executable_start && pc < (uintptr_t)etext;
}
KEPT int asks_another(void) {
  CALLED("asks_another");
  int answer = is_in_text(CALLER);
  return answer + sink * 0;
}
KEPT int asks_two(void) {
  CALLED("asks_two");
  int answer = is_called_from_text("two", __builtin_return_address(0));
  return answer + sink * 0;
}
KEPT int asks_variables(void) {
  CALLED("asks_variables");
  uintptr_t pc = CALLER;
  return pc >= first && pc < behind;
}
KEPT int asks_distance(void) {
  CALLED("asks_distance");
  return CALLER - first < behind - first;
}
KEPT int asks_in_frame(int n) {
  CALLED("asks_in_frame");
  uintptr_t pc = CALLER;
  char room[n + 10];
  memset(room, n, sizeof room);
  sink += room[n];
  return (uintptr_t)etext > pc;
}
KEPT int counts(void) {  // as gcc -pg does
  CALLED("counts");
  uintptr_t place = (CALLER - (uintptr_t)__executable_start) / 4;
  if (place >= (uintptr_t)(etext - __executable_start) / 4 || place >= sizeof seen) return 0;
  return ++seen[place];
}
KEPT int hands_on(void) {
  CALLED("hands_on");
  return asks_itself();
}
KEPT int asks_section(void) {
  CALLED("asks_section");
  uintptr_t pc = CALLER;
  return pc >= (uintptr_t)__start_trusted && pc < (uintptr_t)__stop_trusted ? 42 : -1;
}
TRUSTED KEPT int is_trusted(void) {
  CALLED("is_trusted");
  int answer = asks_section();
  return answer + sink * 0;
}
KEPT int is_not_trusted(void) {
  CALLED("is_not_trusted");
  int answer = asks_section();
  return answer + sink * 0;
}
int (*volatile pointer)(void) = asks_section;
TRUSTED KEPT int is_trusted_by_pointer(void) {
  CALLED("is_trusted_by_pointer");
  int answer = pointer();
  return answer + sink * 0;
}

struct Record {
  uintptr_t pc;
};
KEPT static int is_record_of_text(const struct Record* record) {
  CALLED("is_record_of_text");
  return is_in_text(record->pc);
}
KEPT int asks_by_record(void) {
  CALLED("asks_by_record");
  struct Record record = {CALLER};
  int answer = is_record_of_text(&record);
  return answer + sink * 0;
}
KEPT uintptr_t own_place(void) {
  CALLED("own_place");
  return CALLER;
}
KEPT int goes_by_record(void) {
  CALLED("goes_by_record");
  int answer = asks_by_record();
  return answer + sink * 0;
}
KEPT int asks_for_place(void) {
  CALLED("asks_for_place");
  int answer = is_in_text(own_place());
  return answer + sink * 0;
}

int main(void) {
  CALLED("main");
  first = (uintptr_t)__executable_start;
  behind = (uintptr_t)etext;
  printf("%d %d %d\n", asks_itself(), asks_another(), asks_two());
  printf("%d %d %d\n", asks_variables(), asks_distance(), asks_in_frame(3));
  printf("%d %d %d %d\n", counts(), hands_on(), goes_by_record(), asks_for_place());
  printf("%d %d %d\n", is_trusted(), is_not_trusted(), is_trusted_by_pointer());
  print_calls();
  return 0;
}
