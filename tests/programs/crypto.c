// OpenSSL's hand-written assembly, all of it that an application reaches: digests, ciphers, big numbers, curves, of
// many lengths. Prints digests of what comes out; nothing is random.
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/params.h>
#include <stdio.h>
#include <string.h>

static unsigned char data[20000], key[64], iv[32], out[21000];

static unsigned long sum(const unsigned char* p, size_t n) {
  unsigned long h = 14695981039346656037ul;
  for (size_t i = 0; i < n; ++i) h = (h ^ p[i]) * 1099511628211ul;
  return h;
}
static void digest(const char* name) {
  const EVP_MD* md = EVP_get_digestbyname(name);
  if (!md) return;
  unsigned long h = 0;
  unsigned char result[EVP_MAX_MD_SIZE];
  unsigned n = 0;
  for (size_t length = 0; length <= sizeof data; length = length < 300 ? length + 1 : length * 2 + 7)
    if (EVP_Digest(data + length % 5, length < sizeof data - 5 ? length : 0, result, &n, md, 0))
      h = h * 31 + sum(result, n);
  printf("%s %lx\n", name, h);
}
static void cipher(const char* name) {
  const EVP_CIPHER* c = EVP_get_cipherbyname(name);
  if (!c) return;
  unsigned long h = 0;
  for (size_t length = 16; length <= sizeof data; length = length < 400 ? length + 16 : length * 2) {
    for (int encrypt = 0; encrypt < 2; ++encrypt) {
      EVP_CIPHER_CTX* ctx = EVP_CIPHER_CTX_new();
      int n = 0, rest = 0;
      if (EVP_CipherInit_ex(ctx, c, 0, key, iv, encrypt) && EVP_CIPHER_CTX_set_padding(ctx, 0) &&
          EVP_CipherUpdate(ctx, out, &n, data + length % 3, (int)length)) {
        EVP_CipherFinal_ex(ctx, out + n, &rest);
        h = h * 31 + sum(out, (size_t)n);
      }
      EVP_CIPHER_CTX_free(ctx);
    }
  }
  printf("%s %lx\n", name, h);
}
static void numbers(void) {
  BN_CTX* ctx = BN_CTX_new();
  BIGNUM *a = BN_new(), *b = BN_new(), *m = BN_new(), *r = BN_new();
  for (int bytes = 8; bytes <= 512; bytes += bytes < 64 ? 8 : 64) {
    BN_bin2bn(data + 1, bytes, a);
    BN_bin2bn(data + 600, bytes, b);
    BN_bin2bn(data + 1200, bytes, m);
    BN_set_bit(m, 0);
    BN_set_bit(m, bytes * 8 - 1);
    BN_mod_exp(r, a, b, m, ctx);
    char* hex = BN_bn2hex(r);
    printf("%d %.40s\n", bytes, hex);
    OPENSSL_free(hex);
    BN_set_flags(b, BN_FLG_CONSTTIME);
    BN_mod_exp_mont_consttime(r, a, b, m, ctx, 0);
    BN_mul(a, r, b, ctx);
    BN_sqr(b, a, ctx);
    BN_mod(r, b, m, ctx);
    hex = BN_bn2hex(r);
    printf("%d %.40s\n", bytes, hex);
    OPENSSL_free(hex);
    BN_set_flags(b, 0);
    BN_clear_free(b);
    b = BN_new();
  }
  const int curves[] = {NID_X9_62_prime256v1, NID_secp224r1, NID_secp384r1, NID_secp521r1, NID_secp256k1};
  for (unsigned i = 0; i < sizeof curves / sizeof *curves; ++i) {
    EC_GROUP* group = EC_GROUP_new_by_curve_name(curves[i]);
    if (!group) continue;
    EC_POINT* point = EC_POINT_new(group);
    BN_bin2bn(data + 3, 32, a);
    BN_bin2bn(data + 99, 28, m);
    EC_POINT_mul(group, point, a, 0, 0, ctx);
    EC_POINT_mul(group, point, a, point, m, ctx);
    char* hex = EC_POINT_point2hex(group, point, POINT_CONVERSION_COMPRESSED, ctx);
    printf("%s\n", hex);
    OPENSSL_free(hex);
    EC_POINT_free(point);
    EC_GROUP_free(group);
  }
  BN_free(a), BN_free(b), BN_free(m), BN_free(r);
  BN_CTX_free(ctx);
}
static void agree(int type) {
  unsigned char secret[64];
  size_t n = sizeof secret;
  EVP_PKEY* mine = EVP_PKEY_new_raw_private_key(type, 0, data + 7, type == EVP_PKEY_X25519 ? 32 : 56);
  EVP_PKEY* theirs = EVP_PKEY_new_raw_private_key(type, 0, data + 700, type == EVP_PKEY_X25519 ? 32 : 56);
  EVP_PKEY_CTX* ctx = EVP_PKEY_CTX_new(mine, 0);
  if (EVP_PKEY_derive_init(ctx) == 1 && EVP_PKEY_derive_set_peer(ctx, theirs) == 1 &&
      EVP_PKEY_derive(ctx, secret, &n) == 1)
    printf("%lx\n", sum(secret, n));
  EVP_PKEY_CTX_free(ctx), EVP_PKEY_free(mine), EVP_PKEY_free(theirs);
}

int main(void) {
  unsigned x = 12345;
  for (size_t i = 0; i < sizeof data; ++i) data[i] = (unsigned char)((x = x * 1103515245 + 12345) >> 16);
  memcpy(key, data + 50, sizeof key);
  memcpy(iv, data + 150, sizeof iv);
  const char* digests[] = {"md5",      "sha1",     "sha224",   "sha256",     "sha384",     "sha512", "sha512-256",
                           "sha3-256", "sha3-512", "shake128", "blake2b512", "blake2s256", "sm3",    "ripemd160"};
  for (unsigned i = 0; i < sizeof digests / sizeof *digests; ++i) digest(digests[i]);
  const char* ciphers[] = {"aes-128-cbc",
                           "aes-192-cbc",
                           "aes-256-cbc",
                           "aes-128-ecb",
                           "aes-128-ctr",
                           "aes-256-ctr",
                           "aes-128-gcm",
                           "aes-256-gcm",
                           "aes-128-xts",
                           "aes-256-xts",
                           "aes-128-ccm",
                           "aes-256-ocb",
                           "aes-128-cfb",
                           "aes-256-ofb",
                           "chacha20",
                           "chacha20-poly1305",
                           "camellia-128-cbc",
                           "des-ede3-cbc",
                           "sm4-cbc",
                           "aria-128-cbc",
                           "aes-128-cbc-hmac-sha1",
                           "aes-128-cbc-hmac-sha256"};
  for (unsigned i = 0; i < sizeof ciphers / sizeof *ciphers; ++i) cipher(ciphers[i]);
  numbers();
  agree(EVP_PKEY_X25519);
  agree(EVP_PKEY_X448);
  return 0;
}
