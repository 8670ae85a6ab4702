#include "settings.h"

#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"
#include "libprof/profile_type.h"

namespace libprof {

// Only libprof-sampler.so has it (sampler/threads.cc).
extern "C" {
[[gnu::weak, gnu::visibility("default")]] extern const char libprof_records_addresses;
// profld sets it in a static program without hooks, which has this library in it.
[[gnu::used, gnu::visibility("default")]] volatile uint64_t _profunhooked = 0;
}

Settings settings;
uint32_t profile_type = kDefaultType;
const uint64_t* initial_stack;

namespace {

constexpr uint64_t kDefaultNodes = 4'000'000;
constexpr uint64_t kDefaultBudget = 2, kLargestBudget = 100;
constexpr uint64_t kMaxNodes = 3'500'000'000;  // a block number has 32 bits
constexpr uint64_t kAuxUser = 11, kAuxEffectiveUser = 12, kAuxGroup = 13, kAuxEffectiveGroup = 14, kAuxSecure = 23;

struct AuxiliaryEntry {
  uint64_t type, value;
};

// The value if `variable` is "NAME=value", else null.
const char* value_of(const char* variable, const char* name) {
  while (*name != 0 && *variable == *name) ++variable, ++name;
  return *name == 0 && *variable == '=' ? variable + 1 : nullptr;
}

void set_directory(const char* value) {
  Line line(settings.directory, sizeof settings.directory);
  if (value[0] != '/') {
    char current[sizeof settings.directory];
    const int64_t n = syscall4(__NR_getcwd, as_word(current), sizeof current);
    line << (n > 0 && current[0] == '/' && current[1] != 0 ? current : n > 0 && current[0] == '/' ? "" : ".");
    if (value[0] != 0) line << "/";
  }
  line << value;
  if (!line.is_full()) return;
  say("PROFDIR: the name of the directory is too long; nothing is recorded");
  settings.is_off = true;
}

void set_type(const char* value) {
  settings.has_no_samples = equal(value, kSampledFromOutside);
  if (*value == 0 || settings.has_no_samples) {
    settings.type = kDefaultType;
    return;
  }
  for (const TypeName& known : kTypeNames) {
    if (!equal(value, known.name)) continue;
    settings.type = known.type;
    return;
  }
  say("PROFTYPE=", value, kUnknownType);
  settings.type = kDefaultType;
}

void set_size(const char* value) {
  if (*value == 0) return;
  settings.node_limit = parse_size(value);
  if (settings.node_limit != 0) return;
  say("PROFSIZE=", value, ": is not a number of nodes like 4000000 or 4M; the default is used");
  settings.node_limit = kDefaultNodes;
}

void set_budget(const char* value) {
  if (*value == 0) return;
  const char* p = value;
  const uint64_t percent = parse_decimal(&p);
  if (p != value && p - value <= 3 && *p == 0 && percent <= kLargestBudget) {
    settings.budget = percent;
    return;
  }
  say("PROFBUDGET=", value, ": is not a number of percent from 0 to 100; 2 is used");
}

void set_bytes(const char* name, const char* value, uint64_t* bytes) {
  if (*value == 0) return;
  const uint64_t parsed = parse_bytes(value);
  if (parsed == 0) return say(name, "=", value, ": is not a number of bytes; write 500K, 20M or 2G; it is ignored");
  *bytes = parsed;
}

void set_start(const char* value) {
  settings.starts_off = equal(value, "off");
  if (settings.starts_off || equal(value, "on") || equal(value, "")) return;
  say("PROFSTART=", value, ": is neither on nor off; recording is on");
}

struct Environment {
  char directory[sizeof settings.directory];
  bool has_directory;
};

void look_at(const char* variable, Environment* found) {
  if (const char* type = value_of(variable, "PROFTYPE")) set_type(type);
  if (const char* size = value_of(variable, "PROFSIZE")) set_size(size);
  if (const char* budget = value_of(variable, "PROFBUDGET")) set_budget(budget);
  if (const char* start = value_of(variable, "PROFSTART")) set_start(start);
  if (const char* limit = value_of(variable, "PROFLIMIT")) set_bytes("PROFLIMIT", limit, &settings.trace_limit);
  if (const char* last = value_of(variable, "PROFLAST")) set_bytes("PROFLAST", last, &settings.trace_last);
  if (const char* directory = value_of(variable, "PROFDIR")) {
    Line line(found->directory, sizeof found->directory);
    line << directory;
    found->has_directory = true;
  }
}

const uint64_t* after_environment(const uint64_t* p) {
  while (*p != 0) ++p;
  return p + 1;
}

}  // namespace

uint64_t parse_size(const char* text) {
  const char* p = text;
  uint64_t value = parse_decimal(&p);
  if (p == text || p - text > 10) return 0;
  if (*p == 'k' || *p == 'K') {
    value *= 1000;
    ++p;
  } else if (*p == 'm' || *p == 'M') {
    value *= 1000000;
    ++p;
  }
  if (*p != 0) return 0;
  return value < kMaxNodes ? value : kMaxNodes;
}

uint64_t parse_bytes(const char* text) {
  constexpr uint64_t kMax = 9'000'000'000'000'000'000, kUnit = 1024;
  const char* p = text;
  uint64_t value = parse_decimal(&p);
  if (p == text || p - text > 18) return 0;
  if (*p == 0) return value;
  for (const char* letter = "kMGT"; *letter != 0; ++letter) {
    value = value < kMax / kUnit ? value * kUnit : kMax;
    if (*p == *letter || (*letter == 'k' && *p == 'K')) return p[1] == 0 ? value : 0;
  }
  return 0;
}

uint64_t auxiliary_value(uint64_t type) {
  if (initial_stack) {
    const uint64_t* environment = initial_stack + 1 + initial_stack[0] + 1;
    auto* entry = reinterpret_cast<const AuxiliaryEntry*>(after_environment(environment));
    for (; entry->type != 0; ++entry) {
      if (entry->type == type) return entry->value;
    }
    return 0;
  }
  AuxiliaryEntry vector[64];
  const size_t size = read_text("/proc/self/auxv", reinterpret_cast<char*>(vector), sizeof vector);
  for (size_t i = 0; i < size / sizeof vector[0]; ++i) {
    if (vector[i].type == type) return vector[i].value;
  }
  return 0;
}

void read_settings() {
  settings.is_read = true;
  settings.type = kDefaultType;
  settings.node_limit = kDefaultNodes;
  settings.budget = kDefaultBudget;
  settings.trace_limit = kInfinity;
  // A program that runs with more rights than its user must not write where that user's environment says.
  if (auxiliary_value(kAuxSecure) != 0 || auxiliary_value(kAuxUser) != auxiliary_value(kAuxEffectiveUser) ||
      auxiliary_value(kAuxGroup) != auxiliary_value(kAuxEffectiveGroup)) {
    say("the program has more rights than the one who runs it; nothing is recorded");
    settings.is_off = true;
    return;
  }
  Environment found = {};
  if (initial_stack) {
    for (const uint64_t* p = initial_stack + 1 + initial_stack[0] + 1; *p != 0; ++p) {
      look_at(reinterpret_cast<const char*>(*p), &found);
    }
  } else {
    LineReader environment("/proc/self/environ", 0);
    while (const char* variable = environment.next()) look_at(variable, &found);
  }
  set_directory(found.directory);
  if (&libprof_records_addresses || _profunhooked) {
    settings.has_no_samples |= settings.type == prof_format::kCount || _profunhooked;  // static threads begin unseen
    settings.type = prof_format::kAddresses;
    settings.starts_off = false;
    settings.node_limit = kDefaultNodes;
  } else {
    settings.has_no_samples = false;
  }
}

}  // namespace libprof
