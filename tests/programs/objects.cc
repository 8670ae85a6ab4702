// C++: virtual calls, multiple and virtual inheritance (thunks), templates, lambdas, static initialisation, members by pointer, iostreams.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calls.h"

struct Shape {
  virtual ~Shape() = default;
  virtual int area() const = 0;
  KEPT virtual const char* name() const;
};
const char* Shape::name() const {
  CALLED("Shape::name() const");
  return "shape";
}
struct Named {
  virtual ~Named() = default;
  virtual std::string label(int n) const = 0;
};
static int squares;

struct Square : Shape, Named {
  int side;
  explicit Square(int n) : side(n) { ++squares; }
  ~Square() override { --squares; }
  KEPT int area() const override;
  KEPT std::string label(int n) const override;
};
int Square::area() const {
  CALLED("Square::area() const");
  return side * side;
}
std::string Square::label(int n) const {
  CALLED("Square::label[abi:cxx11](int) const");
  return "square" + std::to_string(n);
}
struct Base {
  int value = 3;
  virtual ~Base() = default;
  virtual int get() const = 0;
};
struct Left : virtual Base {
  KEPT int get() const override;
};
int Left::get() const {
  CALLED("Left::get() const");
  return value + 1;
}
struct Right : virtual Base {};
struct Bottom : Left, Right {};

KEPT static int answer() {
  CALLED("answer()");
  return 41;
}
static struct Early {
  int n = answer();
} early;

KEPT static int twice(int n) {
  CALLED("twice(int)");
  return 2 * n;
}
struct Accumulator {
  long total = 0;
  KEPT void add(int n);
  KEPT void subtract(int n);
};
void Accumulator::add(int n) {
  CALLED("Accumulator::add(int)");
  total += n;
}
void Accumulator::subtract(int n) {
  CALLED("Accumulator::subtract(int)");
  total -= n;
}
KEPT static int& once() {
  CALLED("once()");
  static int value = twice(early.n);
  return value;
}

int main() {
  CALLED("main");
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 50; ++i) shapes.push_back(std::make_unique<Square>(i));
  int sum = 0;
  std::map<std::string, int> labels;
  for (const auto& shape : shapes) {
    sum += shape->area() + shape->name()[1];
    const Named* named = dynamic_cast<const Named*>(shape.get());
    labels[named->label(sum % 7)]++;
  }
  Bottom bottom;
  Base* base = &bottom;
  Right* right = &bottom;
  for (int i = 0; i < 10; ++i) sum += base->get() * right->get();
  std::function<int(int)> function = twice;
  Accumulator accumulator;
  void (Accumulator::*members[])(int) = {&Accumulator::add, &Accumulator::subtract};
  for (int i = 0; i < 30; ++i) {
    sum += function(i) + once();
    (accumulator.*members[i % 2])(i);
  }
  std::vector<int> numbers{5, 2, 8, 1};
  std::sort(numbers.begin(), numbers.end(), [&](int a, int b) { return twice(a) > twice(b); });
  shapes.clear();
  for (const auto& [label, count] : labels) std::cout << label << '=' << count << ' ';
  std::cout << sum << ' ' << accumulator.total << ' ' << numbers[0] << ' ' << squares << std::endl;
  print_calls();
  return 0;
}
