#include "parts.h"

static unsigned turn(unsigned n) {
  return n << 5 | n >> 27;
}

unsigned shared(unsigned n) {
  return turn(n) + 1;
}

unsigned mix(unsigned n) {
  unsigned h = shared(n);
  for (int i = 0; i < 20; ++i)
    h = h * 2654435761u + 1;
  return h;
}

unsigned spin(unsigned n, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i)
    n = n * 1103515245u + 12345;
  return turn(n);
}
