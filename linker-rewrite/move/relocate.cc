// A copy is the original, instruction by instruction, with these differences:
//
//   entry          call _profin before the first instruction (behind ENDBR64, which must stay first)
//   ret            call _profout; ret
//   tail call      call _profout; jmp f
//   jcc f (tail)   jncc 1f; call _profout; jmp f; 1:
//   branch         the displacement leads to the target's copy; an 8-bit one that does not reach becomes 32 bits wide
//   jrcxz, loop    have 8 bits only: jrcxz 1f; jmp 2f; 1: jmp target; 2:
//   disp(%rip)     the displacement leads to the old address still: data does not move, and the address
//                  of a function is that of its original. Only labels and jump tables have those of the copies.
//   falling off    a range whose last instruction goes on into the next range gets a jump there;
//                  into a function: a tail call
//
// The hook before the body is laid so that the body has the same address modulo 64 as the original: compilers align
// loops, and processors cache code in lines.
//
// Lengths depend on distances only within one range: everything outside is referred to by 32 bits. So each range is
// planned alone: assume that all short branches inside stay short, lengthen those that do not reach, repeat until
// none does. The plan keeps the few instructions that change (Change); all others are copied as they are.

#include "relocate.h"

#include <algorithm>
#include <cstring>

#include "linker-rewrite/base/parallel.h"
#include "linker-rewrite/base/refusal.h"
#include "linker-rewrite/decide/movability.h"

namespace profld {

namespace {

constexpr uint64_t kBodyAlignment = 64;
constexpr uint8_t kInt3 = 0xcc, kJump = 0xe9, kJumpShort = 0xeb;
constexpr uint32_t kJumpLength = 5, kJumpShortLength = 2, kJumpIfLength = 6;

enum class Form : uint8_t {
  hook_only,           // the instruction as it is, a hook before it
  jump,                // jmp rel32
  jump_if,             // jcc rel32
  jump_if_short_far,   // see jrcxz above
  tail_call_if,        // see jcc f above
  tail_call_if_short,  // the same for jrcxz and loop
};

struct Change {
  uint32_t insn;
  Form form;
  bool leave_hook;  // call _profout first (in the tail_call forms it is part of the form)
};

bool is_endbr64(const Code& code) {
  return code.bytes.size() >= 4 && code.bytes[0] == 0xf3 && code.bytes[1] == 0x0f && code.bytes[2] == 0x1e &&
         code.bytes[3] == 0xfa;
}

constexpr uint32_t kHookLength = 6;  // call *slot(%rip)

}  // namespace

struct Relocator::RangePlan {
  uint32_t range;               // index in Program::ranges
  uint32_t entry_hook_before;   // index of the instruction before which the entry hook stands; UINT32_MAX: none
  std::vector<Change> changes;  // ascending by insn
  bool falls_off;               // needs a jump behind its last instruction
  bool leaves_at_end = false;   // and before that, a hook: it runs into another function
  uint64_t returns = 0, tail_jumps = 0;
};

Relocator::Relocator(const Program& program, NewAddr enter_slot, NewAddr leave_slot)
    : program_(program), enter_slot_(enter_slot), leave_slot_(leave_slot) {}

Relocator::~Relocator() = default;

NewAddr Relocator::call_target(OldAddr target) const {
  const RangeCopy* c = copies_.find(target);
  return c ? c->address(target) : unmoved(target);
}

NewAddr Relocator::jump_target(OldAddr target) const {
  const RangeCopy* c = copies_.find(target);
  return c ? c->body_address(target) : unmoved(target);
}

// Length of the instruction's own bytes in the copy, without a hook before it.
static uint32_t length_in_form(const Insn& insn, Form form) {
  switch (form) {
    case Form::hook_only:
      return insn.length;
    case Form::jump:
      return insn.prefixes + kJumpLength;
    case Form::jump_if:
      return insn.prefixes + kJumpIfLength;
    case Form::jump_if_short_far:
      return insn.length + kJumpShortLength + kJumpLength;
    case Form::tail_call_if:
      return kJumpShortLength + kHookLength + kJumpLength;
    case Form::tail_call_if_short:
      return insn.length + kJumpShortLength + kHookLength + kJumpLength;
  }
  return 0;
}

Relocator::RangePlan Relocator::plan_range(uint32_t index, RangeCopy& copy) const {
  const CodeRange& r = program_.ranges[index];
  const Group& group = program_.groups[r.group];
  const Code& code = program_.code(r);
  const bool hooked = group.hooked;
  RangePlan plan{index, UINT32_MAX, {}, false};

  // Step 1: what changes for certain.
  if (hooked && !r.fragment) plan.entry_hook_before = is_endbr64(code) && code.insns.size() > 1 ? 1 : 0;
  std::vector<bool> indirect_tail_call(group.indirect.jumps.empty() ? 0 : code.insns.size());
  for (const IndirectJump& j : group.indirect.jumps)
    if (j.at.part == r.part && j.kind == JumpKind::tail_call) indirect_tail_call[j.at.insn] = true;
  std::vector<uint32_t> short_inside;  // short branches within the range
  for (uint32_t i = 0; i < code.insns.size(); ++i) {
    const Insn& insn = code.insns[i];
    const OldAddr target = code.target(insn);
    const bool inside = r.range.contains(target);
    switch (insn.flow) {
      case Flow::ret:
        if (hooked) {
          plan.changes.push_back({i, Form::hook_only, true});
          ++plan.returns;
        }
        break;
      case Flow::jump_indirect:
        if (hooked && !indirect_tail_call.empty() && indirect_tail_call[i]) {
          plan.changes.push_back({i, Form::hook_only, true});
          ++plan.tail_jumps;
        }
        break;
      case Flow::jump:
      case Flow::jump_if:
      case Flow::jump_if_short: {
        const bool tail = hooked && is_tail_call(program_, r, code.address(insn), target);
        if (inside && !tail) {
          if (insn.field_size == 1) short_inside.push_back(i);
          break;
        }
        plan.tail_jumps += tail;
        if (insn.flow == Flow::jump)
          plan.changes.push_back({i, Form::jump, tail});
        else if (insn.flow == Flow::jump_if)
          plan.changes.push_back({i, tail ? Form::tail_call_if : Form::jump_if, false});
        else
          plan.changes.push_back({i, tail ? Form::tail_call_if_short : Form::jump_if_short_far, false});
        break;
      }
      default:
        break;
    }
  }
  const Flow last = code.insns.back().flow;
  plan.falls_off = last == Flow::next || last == Flow::call || last == Flow::call_indirect || last == Flow::jump_if ||
                   last == Flow::jump_if_short;
  const bool may_run_on = plan.falls_off && last != Flow::call && last != Flow::call_indirect;
  plan.leaves_at_end = hooked && may_run_on && runs_into_function(program_, r);
  plan.tail_jumps += plan.leaves_at_end;

  // Step 2: offsets in the copy, until every short branch reaches.
  std::vector<uint32_t> at(code.insns.size() + 1);  // of each instruction with what stands before it; last: the end
  for (;;) {
    uint32_t offset = 0;
    auto change = plan.changes.begin();
    copy.body = 0;
    for (uint32_t i = 0; i < code.insns.size(); ++i) {
      at[i] = offset;
      if (i == plan.entry_hook_before) copy.body = offset += kHookLength;
      if (change != plan.changes.end() && change->insn == i) {
        offset += (change->leave_hook ? kHookLength : 0) + length_in_form(code.insns[i], change->form);
        ++change;
      } else {
        offset += code.insns[i].length;
      }
    }
    at.back() = offset;

    std::vector<uint32_t> too_far;
    for (uint32_t i : short_inside) {
      const Insn& insn = code.insns[i];
      const OldAddr target = code.target(insn);
      const size_t covering = code.covering(target);
      int64_t to = at[covering] + int64_t(target - code.address(code.insns[covering]));
      if (plan.entry_hook_before != UINT32_MAX && covering <= plan.entry_hook_before) to = copy.body;
      const int64_t end = int64_t(at[i]) + (i == plan.entry_hook_before ? kHookLength : 0) + insn.length;
      if (to - end < -128 || to - end > 127) too_far.push_back(i);
    }
    if (too_far.empty()) break;
    for (uint32_t i : too_far) {
      const Flow flow = code.insns[i].flow;
      const Form form = flow == Flow::jump      ? Form::jump
                        : flow == Flow::jump_if ? Form::jump_if
                                                : Form::jump_if_short_far;
      auto place = std::ranges::lower_bound(plan.changes, i, {}, &Change::insn);
      plan.changes.insert(place, {i, form, false});
    }
    std::erase_if(short_inside, [&](uint32_t i) { return std::ranges::binary_search(too_far, i); });
  }

  // Step 3: the map.
  copy.steps.push_back({0, 0});
  for (uint32_t i = 1; i <= code.insns.size(); ++i) {
    const uint32_t old = i < code.insns.size() ? code.insns[i].offset : uint32_t(r.range.size());
    if (at[i] - old != copy.steps.back().delta) copy.steps.push_back({old, at[i] - old});
  }
  copy.size = at.back() + (plan.leaves_at_end ? kHookLength : 0) + (plan.falls_off ? kJumpLength : 0);
  return plan;
}

void Relocator::plan(NewAddr text) {
  std::vector<uint32_t> moving;
  for (uint32_t i = 0; i < program_.ranges.size(); ++i)
    if (program_.groups[program_.ranges[i].group].moves()) moving.push_back(i);
  std::vector<RangeCopy> copies(moving.size());
  plans_.resize(moving.size());
  parallel_for(moving.size(), [&](size_t i) {
    const CodeRange& r = program_.ranges[moving[i]];
    RangeCopy& c = copies[i];
    c.original = r.range;
    c.function = r.fragment ? program_.groups[r.group].code.entry : r.range.start;
    c.fragment = r.fragment;
    plans_[i] = plan_range(moving[i], c);
  });

  NewAddr end = text;
  copies_.expect(copies.size());
  for (size_t i = 0; i < copies.size(); ++i) {
    RangeCopy& c = copies[i];
    const uint32_t hook = plans_[i].entry_hook_before;
    const Code& code = program_.code(program_.ranges[moving[i]]);
    const OldAddr body = hook == UINT32_MAX ? c.original.start : c.original.start + code.insns[hook].offset;
    const uint64_t skip = (body.value - c.body - end.value) & (kBodyAlignment - 1);
    c.start = end + skip;
    end = c.start + c.size;
    returns_ += plans_[i].returns;
    tail_jumps_ += plans_[i].tail_jumps;
    copies_.add(std::move(c));
  }
  copies_.sort();  // they are in order already; the map is now complete
  text_size_ = end - text;
}

uint64_t Relocator::jump_tables() const {
  uint64_t n = 0;
  for (size_t g = 0; g < program_.groups.size(); ++g)
    if (program_.groups[g].moves()) n += program_.groups[g].indirect.tables.size();
  return n;
}

// Writes one copy.
class Relocator::Emitter {
 public:
  // A value that replaces four bytes of an instruction.
  struct Override {
    uint32_t insn;
    uint8_t field;
    bool rip_relative;
    NewAddr value;
  };

  Emitter(const Relocator& relocator, const RangePlan& plan, const RangeCopy& copy, std::vector<Override> overrides,
          Bytes& text, NewAddr text_start)
      : r_(relocator),
        plan_(plan),
        copy_(copy),
        code_(r_.program_.code(r_.program_.ranges[plan.range])),
        overrides_(std::move(overrides)),
        out_(text.data() + (copy.start - text_start)),
        begin_(out_) {
    std::ranges::sort(overrides_, {}, &Override::insn);
  }

  void emit() {
    // From one change, or the entry hook, to the next all is copied as it is.
    const uint32_t count = uint32_t(code_.insns.size());
    uint32_t i = 0;
    auto up_to = [&](uint32_t end) {
      if (i <= plan_.entry_hook_before && plan_.entry_hook_before < end) {
        unchanged(i, plan_.entry_hook_before);
        hook(r_.enter_slot_);
        i = plan_.entry_hook_before;
      }
      unchanged(i, end);
      i = end;
    };
    for (const Change& change : plan_.changes) {
      up_to(change.insn);
      if (i == plan_.entry_hook_before) hook(r_.enter_slot_);
      if (change.leave_hook) hook(r_.leave_slot_);
      if (change.form == Form::hook_only)
        unchanged(i, i + 1);
      else
        changed(code_.insns[i], change.form);
      ++i;
    }
    up_to(count);
    if (plan_.leaves_at_end) hook(r_.leave_slot_);
    if (plan_.falls_off) {
      const OldAddr next = copy_.original.end;
      branch(kJump, plan_.leaves_at_end ? r_.call_target(next) : jump_target(next));
    }
    if (uint64_t(out_ - begin_) != copy_.size)
      throw Error("internal error: a copy has not the length it was planned with");
  }

 private:
  NewAddr jump_target(OldAddr target) const {
    return copy_.original.contains(target) ? copy_.body_address(target) : r_.jump_target(target);
  }
  NewAddr here() const { return copy_.start + uint64_t(out_ - begin_); }
  void byte(uint8_t b) { *out_++ = b; }
  void bytes(ByteView v) { out_ = std::copy(v.begin(), v.end(), out_); }
  static int32_t distance(NewAddr from, NewAddr to) {
    const int64_t d = int64_t(to.value - from.value);
    if (d != int32_t(d)) throw refusal(Refusal::data_too_far);
    return int32_t(d);
  }
  void write32(uint8_t* at, int32_t v) const { std::memcpy(at, &v, sizeof v); }
  // The last field of an instruction: 32 bits relative to its end.
  void rel32(NewAddr target) {
    write32(out_, distance(here() + 4, target));
    out_ += 4;
  }
  void branch(uint8_t opcode, NewAddr target) {
    byte(opcode);
    rel32(target);
  }
  void hook(NewAddr slot) {  // call *slot(%rip)
    byte(0xff);
    byte(0x15);
    rel32(slot);
  }

  void changed(const Insn& insn, Form form) {
    const ByteView original = code_.bytes.subspan(insn.offset, insn.length);
    const uint8_t opcode = original[insn.field - 1u];
    const uint32_t tail = kHookLength + kJumpLength;
    const NewAddr jump_to = jump_target(code_.target(insn));
    // A tail call enters the function, hook included.
    const NewAddr call_to = r_.call_target(code_.target(insn));
    switch (form) {
      case Form::hook_only:
        break;
      case Form::jump:
        bytes(original.first(insn.prefixes));
        branch(kJump, is_tail(insn) ? call_to : jump_to);
        break;
      case Form::jump_if:
        bytes(original.first(insn.prefixes));
        byte(0x0f);
        byte(uint8_t(0x80 | (opcode & 0x0f)));
        rel32(jump_to);
        break;
      case Form::jump_if_short_far:
        bytes(original.first(insn.field));
        byte(kJumpShortLength);
        byte(kJumpShort);
        byte(kJumpLength);
        branch(kJump, jump_to);
        break;
      case Form::tail_call_if:
        byte(uint8_t(0x70 | ((opcode ^ 1) & 0x0f)));
        byte(uint8_t(tail));
        hook(r_.leave_slot_);
        branch(kJump, call_to);
        break;
      case Form::tail_call_if_short:
        bytes(original.first(insn.field));
        byte(kJumpShortLength);
        byte(kJumpShort);
        byte(uint8_t(tail));
        hook(r_.leave_slot_);
        branch(kJump, call_to);
        break;
    }
  }

  bool is_tail(const Insn& insn) const {
    return is_tail_call(r_.program_, r_.program_.ranges[plan_.range], code_.address(insn), code_.target(insn));
  }

  // Copies the instructions [first, end) and lets what is in them lead where it has to.
  void unchanged(uint32_t first, uint32_t end) {
    if (first == end) return;
    const Insn& last = code_.insns[end - 1];
    const uint32_t from = code_.insns[first].offset;
    uint8_t* const copy = out_ - from;  // of the range's first byte
    const NewAddr copy_at = here() - from;
    bytes(code_.bytes.subspan(from, last.offset + last.length - from));
    for (uint32_t i = first; i < end; ++i) {
      const Insn& insn = code_.insns[i];
      if (insn.field_size == 0) continue;
      uint8_t* const field = copy + insn.offset + insn.field;
      const NewAddr next = copy_at + insn.offset + insn.length;
      const OldAddr target = code_.target(insn);
      if (insn.rip_relative)
        write32(field, distance(next, unmoved(target)));
      else if (insn.field_size == 4)
        write32(field, distance(next, insn.flow == Flow::call ? r_.call_target(target) : jump_target(target)));
      else
        *field = uint8_t(distance(next, jump_target(target)));
    }
    for (; override_ < overrides_.size() && overrides_[override_].insn < end; ++override_) {
      const Override& o = overrides_[override_];
      if (o.insn < first) continue;
      const Insn& insn = code_.insns[o.insn];
      const NewAddr next = copy_at + insn.offset + insn.length;
      write32(copy + insn.offset + o.field, o.rip_relative ? distance(next, o.value) : int32_t(o.value.value));
    }
  }

  const Relocator& r_;
  const RangePlan& plan_;
  const RangeCopy& copy_;
  const Code& code_;
  std::vector<Override> overrides_;
  size_t override_ = 0;  // the next of them
  uint8_t* out_;
  uint8_t* const begin_;
};

void Relocator::emit_table(const JumpTable& t, const Group& group, NewAddr clone, uint8_t* out) const {
  const NewAddr base = t.base == t.address ? clone : jump_target(t.base);
  for (OldAddr target : t.targets) {
    NewAddr to = jump_target(target);
    // The end of a range stands for what cannot happen; the address behind the copy will do.
    for (const Code& part : group.code.parts)
      if (target == part.range.end && program_.range_of(target) < 0)
        to = copies_.find(part.range.start)->address(target);
    const uint64_t value = t.relative ? to.value - base.value : to.value;
    std::memcpy(out, &value, t.entry_size);
    out += t.entry_size;
  }
}

void Relocator::emit(NewAddr tables_at, Bytes& text, Bytes& tables, const std::function<void()>& meanwhile) const {
  // Step 1: where the tables are. The code needs their addresses.
  struct Clone {
    const JumpTable* table;
    const Group* group;
    uint64_t at;  // in `tables`
  };
  std::vector<Clone> clones;
  uint64_t size = 0;
  std::vector<std::vector<Emitter::Override>> overrides(program_.ranges.size());
  for (size_t g = 0; g < program_.groups.size(); ++g) {
    if (!program_.groups[g].moves()) continue;
    const Group& group = program_.groups[g];
    for (const JumpTable& t : group.indirect.tables) {
      size = align_up(size, t.entry_size);
      for (const AddressField& u : t.uses)
        overrides[group.ranges[u.at.part]].push_back({u.at.insn, u.field, u.rip_relative, tables_at + size});
      clones.push_back({&t, &group, size});
      size += t.targets.size() * t.entry_size;
    }
    for (const LabelUse& u : group.indirect.label_uses)
      overrides[group.ranges[u.field.at.part]].push_back(
          {u.field.at.insn, u.field.field, u.field.rip_relative, jump_target(u.label)});
  }

  // Step 2: the tables, and room for the code.
  tables.resize(size);
  const std::vector<RangeCopy>& copies = copies_.copies();
  parallel_for(clones.size() + 1, [&](size_t i) {
    if (i == 0)
      text.assign(text_size_, kInt3);
    else
      emit_table(*clones[i - 1].table, *clones[i - 1].group, tables_at + clones[i - 1].at,
                 tables.data() + clones[i - 1].at);
  });

  // Step 3: the code.
  const NewAddr text_start = copies.empty() ? NewAddr() : copies.back().start + copies.back().size - text_size_;
  parallel_for(copies.size() + 1, [&](size_t i) {
    if (i == 0) return meanwhile();
    if (i % Image::kGoneThrough == 0) program_.image->release();
    const RangePlan& plan = plans_[i - 1];
    Emitter(*this, plan, copies[i - 1], std::move(overrides[plan.range]), text, text_start).emit();
  });
}

std::vector<Patch> Relocator::patches(const std::vector<Landing>& landings) const {
  std::vector<Patch> patches;
  const Image& image = *program_.image;
  auto jump = [&](OldAddr from, NewAddr to) {
    Patch p{*image.file_offset(from), {kJump}};
    append(p.bytes, int32_t(to.value - from.value - kJumpLength));
    patches.push_back(std::move(p));
  };
  for (const Landing& l : landings) {
    const NewAddr to = call_target(l.arrival);
    if (l.island == OldAddr()) {
      jump(l.from, to);
    } else {
      patches.push_back({*image.file_offset(l.from), {kJumpShort, uint8_t(l.island.value - l.from.value - 2)}});
      jump(l.island, to);
    }
  }
  // Pointers to labels: an address inside a function, not its entry, that a relocation makes.
  for (const Relocation& r : image.relocations()) {
    if (r.type != R_X86_64_RELATIVE) continue;
    const OldAddr target(uint64_t(r.addend));
    const RangeCopy* c = copies_.find(target);
    if (!c || target == c->original.start) continue;
    if (!program_.code(program_.ranges[size_t(program_.range_of(target))]).index(target)) continue;
    Patch p{r.addend_at, {}};
    append(p.bytes, jump_target(target).value);
    patches.push_back(std::move(p));
  }
  for (size_t g = 0; g < program_.groups.size(); ++g) {
    if (!program_.groups[g].moves()) continue;
    for (OldAddr word : program_.groups[g].indirect.label_words) {
      const OldAddr label(Reader(*image.bytes(word, 8), "data").u64());
      Patch p{*image.file_offset(word), {}};
      append(p.bytes, jump_target(label).value);
      patches.push_back(std::move(p));
    }
  }
  return patches;
}

}  // namespace profld
