#include "indentation.h"

#include <algorithm>
#include <cstdlib>

namespace prof {

namespace {

int tab_stop(bool is_terminal) {
  const char* text = std::getenv("tabstop");
  const int columns = text ? std::atoi(text) : 0;
  return columns >= 1 && columns <= 64 ? columns : is_terminal ? 8 : 4;
}

// Lines get longer with the depth. At deeper levels than this the level is written as a number; else a tree of a
// million levels would be a terabyte of dots. On a terminal names want room, too.
uint32_t deepest_level(std::optional<size_t> columns) {
  return columns ? uint32_t(std::min<size_t>(*columns, 2000) / 4) : 500;
}

std::string number_of(uint32_t level) { return "(level " + std::to_string(level) + ") "; }

std::string made(uint32_t level, int tab) {
  std::string text;
  int columns = 2 * int(level);
  for (; columns >= tab; columns -= tab) text += ".\t";
  if (columns > 0) text += "." + std::string(size_t(columns - 1), ' ');
  return text;
}

}  // namespace

Indentation::Indentation(std::optional<size_t> columns)
    : deepest_(deepest_level(columns)), tab_(tab_stop(columns.has_value())) {}

std::string Indentation::at(uint32_t level) {
  if (level > deepest_) return at(deepest_) + number_of(level);
  while (known_.size() <= level) known_.push_back(made(uint32_t(known_.size()), tab_));
  return known_[level];
}

size_t Indentation::columns_at(uint32_t level) const {
  return 2 * size_t(std::min(level, deepest_)) + (level > deepest_ ? number_of(level).size() : 0);
}

uint32_t Indentation::deepest_in(uint32_t level, size_t room) const {
  const size_t number = number_of(level).size();
  return uint32_t(std::min<size_t>(deepest_, (room - std::min(room, number)) / 2));
}

std::string Indentation::at(uint32_t level, size_t room) {
  return columns_at(level) <= room ? at(level) : at(deepest_in(level, room)) + number_of(level);
}

size_t Indentation::columns_at(uint32_t level, size_t room) const {
  const size_t columns = columns_at(level);
  return columns <= room ? columns : 2 * size_t(deepest_in(level, room)) + number_of(level).size();
}

}  // namespace prof
