unsigned mix(unsigned n);
unsigned spin(unsigned n, unsigned rounds);
unsigned shared(unsigned n);
int even(int n);
int odd(int n);
