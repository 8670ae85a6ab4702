// The program that the build files here build: it counts prime numbers.

#include <stdio.h>
#include <stdlib.h>

// noinline: else it is a part of main in the program, and so in its profile; see docs/when-it-shows-100-main.
__attribute__((noinline)) static int is_prime(int number) {
  for (int divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0) return 0;
  return number > 1;
}

int main(int argc, char** argv) {
  int limit = argc > 1 ? atoi(argv[1]) : 1000000, primes = 0;
  for (int number = 0; number < limit; ++number) primes += is_prime(number);
  printf("%d primes below %d\n", primes, limit);
  return 0;
}
