// The first hook of a process, in whatever thread it happens, creates the profile. A forked child finds its Process
// wiped by the kernel and begins anew, with the settings and the calibration of its parent.
//
// What can go wrong is said once, by the process that was started; forked children are silent, because descriptor 2 may
// be anything by then.

#include "process.h"

#include "calibrate.h"
#include "libprof/clock/cpu_clock.h"
#include "libprof/clock/switches.h"
#include "libprof/clock/times.h"
#include "libprof/clock/tsc.h"
#include "libprof/data/frames.h"
#include "libprof/data/heavy.h"
#include "libprof/data/objects.h"
#include "libprof/data/settings.h"
#include "libprof/data/thread.h"
#include "libprof/file/block_counters.h"
#include "libprof/file/durations.h"
#include "libprof/file/file.h"
#include "libprof/file/modules.h"
#include "libprof/hooks/hook_selection.h"
#include "libprof/hooks/leaving.h"
#include "libprof/kernel/memory.h"
#include "libprof/kernel/syscall.h"
#include "libprof/kernel/text.h"
#include "libprof/profile_type.h"
#include "libprof/trace/trace.h"
#include "sampling.h"

namespace libprof {

namespace {

// Nanoseconds. A program that ran longer than this does not notice a second calibration.
constexpr uint64_t kLongRun = 50'000'000;

int32_t recording_process;  // process id of the one that recorded last: in a child, its parent
uint64_t recording_start;   // its start_time
Calibration calibration;

void store_command_line(Header* header) {
  char text[8192];
  const size_t n = read_text("/proc/self/cmdline", text, sizeof text);
  if (n == 0) return;
  const Block block = take_blocks((n + PROF_BLOCK_SIZE - 1) / PROF_BLOCK_SIZE);
  if (block == 0) return;
  memcpy(at<char>(process->base, block), text, n);
  header->command_line_size = uint32_t(n);
  header->command_line = block;
}

void fill_in_header(Header* h, int32_t parent) {
  h->version = prof_format::kVersion;
  h->byte_order = prof_format::kByteOrder;
  h->header_size = sizeof(Header);
  h->block_size = PROF_BLOCK_SIZE;
  h->type = settings.type;
  h->pid = uint32_t(process_id());
  h->parent_pid = uint32_t(parent);
  if (!settings.starts_off) h->control = prof_format::kRecording;
  h->blocks_used = sizeof(Header) / PROF_BLOCK_SIZE;
  const Stamps start = stamps_of_one_moment(kClockMonotonicRaw);
  h->tsc_start = start.tsc;
  h->ns_start = start.ns;
  h->cpu_start = clock(kClockProcess);
  begin_clocks();
  h->tsc_last = h->tsc_start;
  h->ns_last = h->ns_start;
  h->realtime_start = clock(kClockRealtime);
  char text[64];
  const size_t n = read_text("/proc/sys/kernel/random/boot_id", text, sizeof text);
  for (size_t i = 0; i < n && i < sizeof h->boot_id - 1 && text[i] > ' '; ++i) h->boot_id[i] = text[i];
  h->start_time = field_of_process(kStartTime);
  h->parent_start_time = recording_start;
  if (is_sampled()) h->sample_period = kSamplePeriod;
  // Last: a file without it is no profile.
  ordered();
  memcpy(h->magic, prof_format::kMagic, sizeof h->magic);
}

// For durations, which are corrected as they are counted.
void use_costs(const Calibration& costs) {
  constexpr uint64_t kUnit = 256;
  hook_costs.inside = costs.inside.least / kUnit;
  hook_costs.pair = (costs.inside.least + costs.outside.least) / kUnit;
  hook_costs.sought_outside = costs.sought_outside.least / kUnit;
  hook_costs.sought_inside = costs.sought_inside.least / kUnit;
  hook_costs.longest_short = longest_short(hook_costs.inside);
}

void store_costs(Header* header, const Calibration& costs) {
  header->probe_inside = costs.inside.least;
  header->probe_outside = costs.outside.least;
  header->probe_counted = costs.counted.least;
  header->probe_inside_spread = costs.inside.greatest - costs.inside.least;
  header->probe_outside_spread = costs.outside.greatest - costs.outside.least;
  header->probe_counted_spread = costs.counted.greatest - costs.counted.least;
  header->probe_sought_inside = costs.sought_inside.least;
  header->probe_sought_outside = costs.sought_outside.least;
  header->probe_sought_inside_spread = costs.sought_inside.greatest - costs.sought_inside.least;
  header->probe_sought_outside_spread = costs.sought_outside.greatest - costs.sought_outside.least;
}

// The mean of the two least costs, and as far from it as any measurement is.
Cost mean(Cost a, Cost b) {
  const uint64_t middle = (a.least + b.least) / 2, greatest = a.greatest > b.greatest ? a.greatest : b.greatest;
  const uint64_t least = a.least < b.least ? a.least : b.least;
  const uint64_t above = greatest - middle, below = middle - least;
  return {middle, middle + (above > below ? above : below)};
}

void note_unseen(Header* header) {
  if (are_switches_unseen())
    __atomic_fetch_or(&header->flags, prof_format::kShortWaitsUnseen, __ATOMIC_RELAXED);
  else
    __atomic_fetch_and(&header->flags, ~prof_format::kShortWaitsUnseen, __ATOMIC_RELAXED);
}

// The time of the calling thread since it was given last.
void give_time_since(State* s, Block node) {
  if (is_timed() && load(&tsc_stopped_at) == 0)
    give_time(s, node_at(s, node), uses_cpu_clock() ? cpu_stamp(s) : time_stamp());
}

// The cost is in cycles of the time-stamp counter, which ticks evenly, while the processor's own clock goes faster and
// slower with heat and load. What was measured at the start and at the end is nearer to the whole run than either. How
// long it takes is no function's time: hooks run later, in exit handlers.
void calibrate_again(Header* header) {
  uint64_t mask;
  if (!block_signals(&mask)) return;
  State* own = get_state();
  const bool is_recording = own && load(&own->top) != 0 && !own->is_left;
  if (is_recording) give_time_since(own, load(&current_frame(own)->node));
  const Calibration at_end = calibrate();
  if (is_recording) give_time_since(own, own->root);
  restore_signals(mask);
  if (at_end.outside.greatest == 0 || header->probe_outside == 0) return;
  store_costs(header, {mean(calibration.inside, at_end.inside), mean(calibration.outside, at_end.outside),
                       mean(calibration.counted, at_end.counted), mean(calibration.sought_inside, at_end.sought_inside),
                       mean(calibration.sought_outside, at_end.sought_outside)});
}

// What the threads have run and waited since their last hooks, for readers. Of other threads nothing is changed but the
// time of the end: they may be running.
void stamp_threads(Process* p) {
  State* own = get_state();
  if (own && load(&own->top) != 0 && !own->is_left) {
    const uint64_t now = exact_cpu_stamp(own);
    give_time(own, node_at(own, load(&current_frame(own)->node)), now);
    if (now > load(&own->thread->last_tsc)) store(&own->thread->last_tsc, now);  // kAdaptive: nodes hold no times
    store(&own->thread->end, now);
  }
  lock(&p->lock);
  for (State* s = p->states; s; s = s->next) {
    if (s == own || s->tid == 0) continue;
    if (const uint64_t end = cpu_stamp_of_other(s)) store(&s->thread->end, end);
  }
  unlock(&p->lock);
}

// Threads that live have the names that they have at the end; others what they had when they came upon new contexts.
void name_threads(Process* p) {
  State* own = get_state();
  if (own && load(&own->top) != 0 && !own->is_left && own->tid != int32_t(at<Header>(p->base, 0)->pid)) note_name(own);
  lock(&p->lock);
  for (State* s = p->states; s; s = s->next) {
    if (s != own && s->tid != 0 && s->tid != int32_t(at<Header>(p->base, 0)->pid)) note_name_of_other(s);
  }
  unlock(&p->lock);
}

// Returns what the program is; of no size if that is not known.
Object begin_program() {
  const ProgramHeaders headers = find_program();
  const auto [start, count, bias] = headers;
  if (count == 0) return {};
  const Object program = describe_object(start, count, bias);
  if (uint64_t* words = find_hook_words(headers)) set_program_words(words);
  find_block_counters(start, count, bias);
  find_trace_segment(start, count, bias);
  remember_object(program);
  list_program(program);
  return program;
}

// Returns the phase that the process is in from now on.
Phase begin(Process* p) {
  const bool is_child = recording_process != 0;
  if (!settings.is_read) read_settings();
  if (settings.is_off) return kOff;
  profile_type = settings.type;
  if (profile_type == prof_format::kAddresses && !is_child) begin_leaving(find_program());
  if (takes_stamps() && !is_child && !hooks_leave &&
      !check_tsc("nothing is recorded; use PROFTYPE=count, which needs none"))
    return kOff;
  if (advise(p, sizeof(Process), kAdviseWipeOnFork) != 0) {
    if (!is_child) say("cannot create a profile: ", error_text(-kErrorNotSupported));
    return kOff;
  }
  // Nobody but prof ctl, from outside, knows whether the parent's recording is on.
  if (is_child) settings.starts_off = !parent_records(!settings.starts_off);
  const int64_t result = create_profile(p, settings.directory, settings.node_limit);
  if (result != 0) {
    if (!is_child) say("cannot create ", p->path, ": ", error_text(-result));
    return kOff;
  }
  auto* header = at<Header>(p->base, 0);
  fill_in_header(header, is_child ? recording_process : int32_t(syscall4(__NR_getppid, 0)));
  leave_header_of_parent();
  recording_process = process_id();
  recording_start = header->start_time;
  use_hooks_of_type(false);
  if (uses_cpu_clock()) {
    look_for_signs();
    note_unseen(header);
    use_hooks_of_type(false);
  }
  if (is_sampled()) begin_sampling(header);
  if (!is_child) calibration = calibrate();
  store_costs(header, calibration);
  if (is_timed()) {
    use_costs(calibration);
    begin_durations(header);
  }
  const Object program = begin_program();
  leave_block_counters_of_parent();
  leave_trace_of_parent();
  begin_block_counters();
  begin_shared_counters(program, is_child);
  begin_trace();
  store_command_line(header);
  if (p->is_private) {
    if (!is_child)
      say(p->path,
          ": the file system cannot share a file as memory, so the profile is written when the program exits, and a "
          "killed program leaves none; set PROFDIR to a folder on a disk");
    write_profile(p);
  }
  return kRecording;
}

Process* map_process() {
  auto* p = static_cast<Process*>(map_guarded(sizeof(Process)));
  if (!p) return nullptr;
  advise(p, sizeof(Process), kAdviseWipeOnFork);
  Process* none = nullptr;
  if (__atomic_compare_exchange_n(&process, &none, p, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return p;
  unmap_guarded(p, sizeof(Process));
  return none;
}

}  // namespace

bool begin_process() {
  Process* p = __atomic_load_n(&process, __ATOMIC_ACQUIRE);
  if (!p) p = map_process();
  if (!p) return false;
  if (__atomic_load_n(&p->phase, __ATOMIC_ACQUIRE) == kNotBegun) {
    lock(&p->begin_lock);
    if (p->phase == kNotBegun) {
      const Phase phase = begin(p);
      if (phase == kOff) {
        use_no_hooks();
        leave_shared_counters_of_parent();
      }
      __atomic_store_n(&p->phase, phase, __ATOMIC_RELEASE);
    }
    unlock(&p->begin_lock);
  }
  return p->phase == kRecording;
}

void end_process() {
  Process* p = process;
  if (!p || p->phase != kRecording) return;
  auto* header = at<Header>(p->base, 0);
  stamp_last(header);
  if (is_sampled()) stop_samples();
  if (uses_cpu_clock() && !tsc_stopped_at) stamp_threads(p);
  header->tsc_end = header->tsc_last;
  header->ns_end = header->ns_last;
  header->cpu_end = clock(kClockProcess);
  if (header->ns_end - header->ns_start > kLongRun) calibrate_again(header);
  name_threads(p);
  __atomic_fetch_or(&header->flags, prof_format::kEnded, __ATOMIC_RELAXED);
  store_block_counters();
  store_shared_counters();
  end_trace();
  if (p->is_private) {
    write_profile(p);
  } else {
    give_room_back();
  }
}

void choose_hooks_again() {
  look_for_signs();
  note_unseen(at<Header>(process->base, 0));
  if (is_waiting_timed()) use_hooks_of_type(false);
}

void note_lost_call() {
  Process* p = process;
  if (p && p->phase == kRecording) __atomic_fetch_add(&at<Header>(p->base, 0)->lost, 1, __ATOMIC_RELAXED);
}

void stop_tsc() {
  const uint64_t now = time_stamp_if_readable();
  store(&tsc_stopped_at, now ? now : 1);
  if (takes_stamps() && !are_hooks_off()) use_hooks_of_type(true);
}

void start_tsc() {
  store(&tsc_stopped_at, uint64_t(0));
  if (takes_stamps() && !are_hooks_off()) use_hooks_of_type(true);
}

}  // namespace libprof
