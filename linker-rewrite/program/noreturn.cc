#include "noreturn.h"

#include <algorithm>
#include <string_view>

#include "imports.h"
#include "linker-rewrite/x86/encoding.h"
#include "program.h"

namespace profld {

std::optional<OldAddr> target_of_last_call(const Image& image, OldRange range) {
  const auto code = image.bytes(range.start, range.size());
  const auto displacement = code ? displacement_of_last_call(*code) : std::nullopt;
  if (!displacement) return std::nullopt;
  return range.end + uint64_t(int64_t{*displacement});
}

LastCalls::LastCalls(const Program& program) {
  const auto is_in_front_of_function = [&](const CodeRange& r) {
    const ptrdiff_t next = program.range_of(r.range.end);
    return next >= 0 && program.ranges[size_t(next)].is_function() &&
           program.ranges[size_t(next)].range.start == r.range.end;
  };
  for (const CodeRange& r : program.ranges) {
    if (!r.fde || (r.fde->made && !is_in_front_of_function(r))) continue;
    if (const auto target = target_of_last_call(*program.image, r.range)) add(*target);
  }
}

namespace {

constexpr unsigned kMaxDepth = 4;               // of calls that are followed
constexpr uint64_t kMaxFunctionSize = 1 << 14;  // bytes; longer ones are taken to return

// Of functions of the C and C++ libraries, whose code is not there to be read (CONTRIBUTING, "What must always hold").
constexpr std::string_view kNames[] = {
    "_Exit",
    "_Unwind_Resume",
    "_ZSt9terminatev",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__chk_fail",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_pure_virtual",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_new_length",
    "__fortify_fail",
    "__longjmp_chk",
    "__stack_chk_fail",
    "_exit",
    "_longjmp",
    "abort",
    "err",
    "errx",
    "exit",
    "longjmp",
    "pthread_exit",
    "quick_exit",
    "siglongjmp",
    "verr",
    "verrx",
};

}  // namespace

bool Noreturn::never_returns(const Insn& call, OldAddr target) {
  if (call.flow == Flow::call) return function_never_returns(target, 0);
  return call.rip_relative && (seems_never_to_return(target) || imported_never_returns(target));
}

bool Noreturn::imported_never_returns(OldAddr got_entry) const {
  const Symbol* symbol = symbol_of_got_entry(image_, got_entry);
  if (!symbol) return false;
  const std::string& name = symbol->name;
  const bool throws = name.starts_with("_ZSt") && name.find("__throw_") != std::string::npos;
  return throws || std::ranges::find(kNames, std::string_view(name)) != std::end(kNames);
}

bool Noreturn::function_never_returns(OldAddr function, unsigned depth) {
  if (seems_never_to_return(function)) return true;
  if (auto it = known_.find(function); it != known_.end()) return it->second;
  if (auto got_entry = got_entry_of_stub(image_, function))
    return known_[function] = imported_never_returns(*got_entry);
  const Fde* fde = frames_.find(function);
  if (!fde || depth > kMaxDepth || fde->range.size() > kMaxFunctionSize) return false;
  known_[function] = false;  // while we look at it: a recursive call is no end
  const auto code = decode(image_, fde->range);
  if (!code || !code->index(function)) return false;
  return known_[function] = path_ends(*code, *code->index(function), depth);
}

// True if no path from there leads out of the range.
bool Noreturn::path_ends(const Code& code, size_t from, unsigned depth) {
  std::vector<bool> seen(code.insns.size());
  std::vector<size_t> pending{from};
  while (!pending.empty()) {
    size_t i = pending.back();
    pending.pop_back();
    for (bool goes_on = true; goes_on; ++i) {
      if (i == code.insns.size()) return false;
      if (seen[i]) break;
      seen[i] = true;
      const Insn& insn = code.insns[i];
      switch (insn.flow) {
        case Flow::next:
          break;
        case Flow::call_indirect:
          if (never_returns(insn, code.target(insn))) goes_on = false;
          break;
        case Flow::call:
          if (function_never_returns(code.target(insn), depth + 1)) goes_on = false;
          break;
        case Flow::jump:
        case Flow::jump_if:
        case Flow::jump_if_short: {
          const auto target = code.index(code.target(insn));
          if (!target && !function_never_returns(code.target(insn), depth + 1)) return false;
          if (target) pending.push_back(*target);
          if (insn.flow == Flow::jump) goes_on = false;
          break;
        }
        case Flow::jump_indirect:
        case Flow::ret:
          return false;
        case Flow::stop:
          goes_on = false;
          break;
      }
    }
  }
  return true;
}

}  // namespace profld
