// The one decoder of instructions: Zydis, set to 64-bit code as compilers emit it.

#ifndef LINKER_REWRITE_X86_DECODER_H
#define LINKER_REWRITE_X86_DECODER_H

#include <Zydis/Zydis.h>

namespace profld {

inline const ZydisDecoder& decoder() {
  static const ZydisDecoder d = [] {
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    // Knights Corner gave other meanings to opcodes that all other processors share.
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_KNC, ZYAN_FALSE);
    return decoder;
  }();
  return d;
}

}  // namespace profld

#endif
