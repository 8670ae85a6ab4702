// x264's hand-written SIMD code: encodes a few frames of moving patterns with several settings, and prints what came
// out. One thread: the result depends on nothing else.
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <x264.h>

enum { kWidth = 176, kHeight = 144 };

static void draw(x264_picture_t* picture, int number) {
  for (int plane = 0; plane < 3; ++plane) {
    const int shift = plane != 0;
    for (int y = 0; y < kHeight >> shift; ++y)
      for (int x = 0; x < kWidth >> shift; ++x)
        picture->img.plane[plane][y * picture->img.i_stride[plane] + x] =
            (uint8_t)((x + number * 3) * (y + plane * 7) / 9 + ((x / 16 + y / 16 + number / 4) % 2 ? 60 : 0) +
                      x * x % 13);
  }
}

static void encode(const char* preset, const char* profile, int frames, int crf, uint32_t processor) {
  x264_param_t param;
  x264_param_default_preset(&param, preset, 0);
  param.i_width = kWidth;
  param.i_height = kHeight;
  param.i_csp = X264_CSP_I420;
  param.i_fps_num = 25;
  param.i_fps_den = 1;
  param.i_threads = 1;
  param.cpu &= processor;
  param.i_log_level = X264_LOG_NONE;
  param.rc.i_rc_method = X264_RC_CRF;
  param.rc.f_rf_constant = (float)crf;
  x264_param_apply_profile(&param, profile);
  x264_t* encoder = x264_encoder_open(&param);
  x264_picture_t in, out;
  if (!encoder || x264_picture_alloc(&in, X264_CSP_I420, kWidth, kHeight) < 0) return;
  unsigned long hash = 14695981039346656037ul, bytes = 0;
  for (int i = 0; i < frames || x264_encoder_delayed_frames(encoder) > 0; ++i) {
    x264_nal_t* nals;
    int count;
    if (i < frames) draw(&in, i);
    in.i_pts = i;
    const int size = x264_encoder_encode(encoder, &nals, &count, i < frames ? &in : 0, &out);
    for (int b = 0; b < size; ++b) hash = (hash ^ nals[0].p_payload[b]) * 1099511628211ul;
    if (size > 0) bytes += (unsigned long)size;
  }
  printf("%s %s %d %x: %lu bytes, %lx\n", preset, profile, crf, (unsigned)param.cpu, bytes, hash);
  x264_picture_clean(&in);
  x264_encoder_close(encoder);
}

int main(void) {
  const char* presets[] = {"ultrafast", "veryfast", "medium", "slower"};
  // Everything that the processor has, without AVX, and SSE2 alone.
  const uint32_t processors[] = {~0u, X264_CPU_AVX - 1, X264_CPU_SSSE3 - 1};
  for (unsigned p = 0; p < 3; ++p) {
    for (unsigned i = 0; i < 4; ++i) {
      encode(presets[i], "high", 8, 23, processors[p]);
      encode(presets[i], "baseline", 4, 12, processors[p]);
    }
  }
  return 0;
}
