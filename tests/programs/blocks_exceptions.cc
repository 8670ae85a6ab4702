// Exceptions through frames with and without handlers, a statement on each line.

#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

int cleaned = 0;

struct Cleaner {
  ~Cleaner() { ++cleaned; }
};

int risky(int n) {
  if (n % 5 == 0) throw std::runtime_error("five");
  if (n % 7 == 0) throw n;
  return n;
}

int middle(int n) {
  Cleaner cleaner;
  int result = risky(n);
  result += 1;
  return result;
}  // two ways in

int outer(int n) {
  int sum = 0;
  for (int i = 1; i <= n; ++i) {
    try {
      sum += middle(i);
    } catch (const std::runtime_error& e) {  // two ways in
      sum += int(e.what()[0]);
    } catch (int i) {  // two ways in
      sum -= i;
    }
  }
  return sum;
}

}  // namespace

int main() {
  std::printf("%d\n", outer(200));
  std::printf("%d\n", cleaned);
  try {
    risky(35);
  } catch (...) {
    std::puts("caught");
  }
  return 0;
}
