// A program of phases: one thread alone, then three that compute and sleep in turn, then the first again. (tests/page/run looks at
// when it spent its time.)

#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

[[gnu::noinline]] double load(int n) {
  double sum = 0;
  for (int i = 1; i < n; ++i) sum += std::sqrt(double(i));
  return sum;
}

[[gnu::noinline]] size_t index_words(int n) {
  std::map<std::string, int> words;
  for (int i = 0; i < n; ++i) ++words[std::to_string(i * 7919L % 10007)];
  return words.size();
}

[[gnu::noinline]] double render(int n) {
  double sum = 0;
  for (int i = 1; i < n; ++i) sum += std::sin(double(i)) * std::cos(i * 0.5);
  return sum;
}

}  // namespace

int main() {
  double sum = load(150'000'000) + double(index_words(1'500'000));
  double of_thread[3] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 5; ++k) {
        of_thread[i] += render(2'000'000 * (i + 1));
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const double one : of_thread) sum += one;
  std::printf("%g\n", sum + load(50'000'000));
}
