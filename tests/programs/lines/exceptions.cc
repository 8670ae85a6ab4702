#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
struct Guard {
  explicit Guard(int n) : n_(n) { ++alive; }
  ~Guard() { --alive; }
  int n_;
  static int alive;
};
int Guard::alive = 0;
template <class T>
T twice(T x) {
  if (x > T(3))
    return x;
  return x + x;
}
static int risky(int n) {
  Guard guard(n);
  if (n % 3 == 0)
    throw std::runtime_error("three");
  if (n % 5 == 0) throw n;
  return twice(n);
}
static int careful(int n) {
  Guard outer(n);
  try {
    return risky(n) + 1;
  } catch (const std::exception& e) {
    return -1;
  } catch (int m) {
    return -m;
  }
}
class Shape {
 public:
  virtual ~Shape() = default;
  virtual double area() const = 0;
};
class Square : public Shape {
 public:
  explicit Square(double side) : side_(side) {}
  double area() const override { return side_ * side_; }

 private:
  double side_;
};
int main() {
  int sum = 0;
  for (int i = 1; i < 20; ++i) sum += careful(i);
  std::vector<int> numbers;
  for (int i = 0; i < 10; ++i) numbers.push_back(i);
  for (int n : numbers) sum += n;
  std::map<std::string, int> counts;
  for (const char* word : {"a", "b", "a"})
    ++counts[word];
  for (auto& [name, count] : counts) {
    sum += count;
    if (count > 10) throw 3;
  }
  Shape* shapes[] = {new Square(2), new Square(3)};
  double area = 0;
  for (Shape* shape : shapes) {
    area += shape->area();
    delete shape;
  }
  area += twice(2.5) + twice(7.5);
  std::printf("%d %g %d\n", sum, area, Guard::alive);
}
