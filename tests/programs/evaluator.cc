// An evaluator of expressions that reports everything that goes wrong by exceptions: errors of syntax, unknown names,
// division by zero, overflow, recursion that is too deep. They pass through many frames with destructors, are
// translated, wrapped in others, caught and rethrown. What it prints depends on nothing but itself.
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int scopes_open, scopes_seen;

struct Scope {
  Scope() { ++scopes_open, ++scopes_seen; }
  ~Scope() { --scopes_open; }
};

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
  virtual int weight() const { return 1; }
};
struct SyntaxError : Error {
  size_t where;
  SyntaxError(const std::string& what, size_t at) : Error(what), where(at) {}
  int weight() const override { return int(where); }
};
struct NameError : virtual Error {
  explicit NameError(const std::string& name) : Error("unknown " + name) {}
};
struct ArithmeticError : Error {
  using Error::Error;
  int weight() const override { return 100; }
};

class Node {
 public:
  virtual ~Node() = default;
  virtual long value(const std::map<std::string, long>& names) const = 0;
};
using NodePtr = std::unique_ptr<Node>;

class Number : public Node {
 public:
  explicit Number(long n) : n_(n) {}
  long value(const std::map<std::string, long>&) const override { return n_; }

 private:
  long n_;
};

class Name : public Node {
 public:
  explicit Name(std::string name) : name_(std::move(name)) {}
  long value(const std::map<std::string, long>& names) const override {
    Scope scope;
    try {
      return names.at(name_);
    } catch (const std::out_of_range&) {
      throw NameError(name_);
    }
  }

 private:
  std::string name_;
};

class Binary : public Node {
 public:
  Binary(char op, NodePtr left, NodePtr right) : op_(op), left_(std::move(left)), right_(std::move(right)) {}
  long value(const std::map<std::string, long>& names) const override {
    Scope scope;
    const long a = left_->value(names), b = right_->value(names);
    switch (op_) {
      case '+':
        return checked(a + b);
      case '-':
        return checked(a - b);
      case '*':
        return checked(a * b);
      default:
        if (b == 0) throw ArithmeticError("division by zero");
        return a / b;
    }
  }

 private:
  static long checked(long n) {
    if (n > 100000 || n < -100000) throw n;
    return n;
  }
  char op_;
  NodePtr left_, right_;
};

// `try e1 else e2`, written e1 ? e2.
class Fallback : public Node {
 public:
  Fallback(NodePtr first, NodePtr second) : first_(std::move(first)), second_(std::move(second)) {}
  long value(const std::map<std::string, long>& names) const override {
    Scope scope;
    try {
      return first_->value(names);
    } catch (const Error& e) {
      if (e.weight() == 1) throw;
      try {
        return second_->value(names) + e.weight();
      } catch (...) {
        std::throw_with_nested(ArithmeticError("fallback of " + std::string(e.what())));
      }
    }
  }

 private:
  NodePtr first_, second_;
};

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}
  NodePtr all() try {
    NodePtr result = fallback();
    if (at_ != text_.size()) throw SyntaxError("unexpected " + text_.substr(at_, 1), at_);
    return result;
  } catch (const std::length_error& e) {
    throw SyntaxError(e.what(), at_);
  }

 private:
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  NodePtr fallback() {
    Scope scope;
    if (++depth_ > 12) throw std::length_error("too deep");
    NodePtr left = sum();
    while (next() == '?') {
      ++at_;
      NodePtr right = sum();
      left = std::make_unique<Fallback>(std::move(left), std::move(right));
    }
    --depth_;
    return left;
  }
  NodePtr sum() {
    Scope scope;
    NodePtr left = product();
    while (next() == '+' || next() == '-') {
      const char op = text_[at_++];
      NodePtr right = product();
      left = std::make_unique<Binary>(op, std::move(left), std::move(right));
    }
    return left;
  }
  NodePtr product() {
    NodePtr left = factor();
    while (next() == '*' || next() == '/') {
      const char op = text_[at_++];
      NodePtr right = factor();
      left = std::make_unique<Binary>(op, std::move(left), std::move(right));
    }
    return left;
  }
  NodePtr factor() {
    Scope scope;
    const char c = next();
    if (c >= '0' && c <= '9') return std::make_unique<Number>(c - '0' + 10 * (++at_ % 7));
    if (c >= 'a' && c <= 'z') return std::make_unique<Name>(std::string(1, text_[at_++]));
    if (c != '(') throw SyntaxError("no operand", at_);
    ++at_;
    NodePtr inner = fallback();
    if (next() != ')') throw SyntaxError("no )", at_);
    ++at_;
    return inner;
  }

  const std::string text_;
  size_t at_ = 0;
  int depth_ = 0;
};

unsigned seed = 1;
unsigned random_below(unsigned n) {
  seed = seed * 1103515245 + 12345;
  return (seed >> 16) % n;
}

std::string random_expression(int depth) {
  switch (depth == 0 ? random_below(2) : random_below(9)) {
    case 0:
      return std::string(1, char('0' + random_below(10)));
    case 1:
      return std::string(1, char('a' + random_below(7)));
    case 2:
      return "(" + random_expression(depth - 1) + ")";
    case 3:
      return random_expression(depth - 1) + "?" + random_expression(depth - 1);
    case 4:
      return random_below(20) ? random_expression(depth - 1) : "(";
    default:
      return "(" + random_expression(depth - 1) + "+-*/"[random_below(4)] + random_expression(depth - 1) + ")";
  }
}

std::string describe(const std::exception& e) {
  std::ostringstream out;
  out << e.what();
  try {
    std::rethrow_if_nested(e);
  } catch (const std::exception& inner) {
    out << " <- " << describe(inner);
  } catch (long n) {
    out << " <- " << n;
  }
  return out.str();
}

std::string evaluate(const std::string& text, const std::map<std::string, long>& names) {
  try {
    return std::to_string(Parser(text).all()->value(names));
  } catch (const NameError& e) {
    return describe(e);
  } catch (const Error& e) {
    return describe(e) + " " + std::to_string(e.weight());
  } catch (long n) {
    return "overflow " + std::to_string(n);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
  const std::map<std::string, long> names = {{"a", 1}, {"b", 0}, {"c", -7}, {"d", 300}, {"e", 44}};
  std::map<std::string, int> results;
  for (int i = 0; i < rounds; ++i) ++results[evaluate(random_expression(5), names)];
  for (const auto& [result, count] : results) std::printf("%d %s\n", count, result.c_str());
  std::printf("%d %d\n", scopes_open, scopes_seen);
  return 0;
}
