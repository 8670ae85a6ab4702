#include "expression.h"

#include <dwarf.h>

namespace profld {

bool ExpressionOperation::is_jump() const { return opcode == DW_OP_skip || opcode == DW_OP_bra; }

// Long because it names all operations of expressions.
bool read_operation(ByteView expression, Reader& r, ExpressionOperation& out) {
  const size_t begin = r.position();
  out = {};
  out.opcode = r.u8();
  if (out.opcode >= DW_OP_reg0 && out.opcode <= DW_OP_reg31) {
    out.reg = out.opcode - DW_OP_reg0;
  } else if (out.opcode >= DW_OP_breg0 && out.opcode <= DW_OP_breg31) {
    out.reg = out.opcode - DW_OP_breg0;
    out.offset = r.sleb();
  } else if (out.opcode < DW_OP_lit0 || out.opcode > DW_OP_lit31) {
    switch (out.opcode) {
      case DW_OP_const1u:
      case DW_OP_const1s:
      case DW_OP_pick:
      case DW_OP_deref_size:
        r.skip(1);
        break;
      case DW_OP_const2u:
      case DW_OP_const2s:
      case DW_OP_skip:
      case DW_OP_bra:
        r.skip(2);
        break;
      case DW_OP_const4u:
      case DW_OP_const4s:
        r.skip(4);
        break;
      case DW_OP_addr:
      case DW_OP_const8u:
      case DW_OP_const8s:
        r.skip(8);
        break;
      case DW_OP_constu:
      case DW_OP_plus_uconst:
        r.uleb();
        break;
      case DW_OP_consts:
        r.sleb();
        break;
      case DW_OP_regx:
        out.reg = r.uleb();
        break;
      case DW_OP_bregx:
        out.reg = r.uleb();
        out.offset = r.sleb();
        break;
      case DW_OP_deref:
      case DW_OP_dup:
      case DW_OP_drop:
      case DW_OP_over:
      case DW_OP_swap:
      case DW_OP_rot:
      case DW_OP_abs:
      case DW_OP_and:
      case DW_OP_div:
      case DW_OP_minus:
      case DW_OP_mod:
      case DW_OP_mul:
      case DW_OP_neg:
      case DW_OP_not:
      case DW_OP_or:
      case DW_OP_plus:
      case DW_OP_shl:
      case DW_OP_shr:
      case DW_OP_shra:
      case DW_OP_xor:
      case DW_OP_eq:
      case DW_OP_ge:
      case DW_OP_gt:
      case DW_OP_le:
      case DW_OP_lt:
      case DW_OP_ne:
      case DW_OP_nop:
        break;
      default:
        return false;
    }
  }
  out.bytes = expression.subspan(begin, r.position() - begin);
  out.operands = out.bytes.subspan(1);
  return true;
}

}  // namespace profld
