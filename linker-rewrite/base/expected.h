// The result of a function that may fail, if its caller uses the reason: the value, or the reason. C++23 has it in the
// standard library (std::expected).

#ifndef LINKER_REWRITE_BASE_EXPECTED_H
#define LINKER_REWRITE_BASE_EXPECTED_H

#include <utility>
#include <variant>

namespace profld {

template <class T, class E>
class Expected {
 public:
  Expected(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Expected(E error) : content_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  // Only if it has a value.
  T& operator*() { return std::get<0>(content_); }
  const T& operator*() const { return std::get<0>(content_); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }
  // Only if it has none.
  const E& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, E> content_;
};

}  // namespace profld

#endif
