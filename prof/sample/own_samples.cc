#include "own_samples.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "prof/read/copy_steps.h"
#include "prof/read/elf_file.h"
#include "prof/read/error.h"

namespace prof {

namespace {

uint64_t whole(double samples) { return uint64_t(std::llround(samples)); }

// What is to be known of a module to tell where in its file an address is. Files are as they are after the run.
class Place {
 public:
  Place(const Module& module, const std::string& program) : path_(module.path), build_id_(module.build_id) {
    try {
      file_.emplace(module.path);
      if (!file_->is_rewritten()) return;
      steps_.emplace(*file_);
      original_.emplace(program);
      path_ = program;
      build_id_ = original_->build_id();
    } catch (const Error&) {
      file_.reset();
    }
  }

  const std::string& path() const { return path_; }
  const std::string& build_id() const { return build_id_; }

  // None if nothing of the file can be run there.
  std::optional<uint64_t> offset(uint64_t address) const {
    if (!file_) return {};
    return original_ ? original_->offset_of(steps_->original(address)) : file_->offset_of(address);
  }

 private:
  std::string path_, build_id_;
  std::optional<ElfFile> file_, original_;
  std::optional<CopySteps> steps_;  // of the copy
};

class Collection {
 public:
  explicit Collection(const std::string& program) : program_(program) {
    samples_.program = program;
    samples_.has_kernel = true;
  }

  void add(const Profile& profile) {
    if (profile.header().type != prof_format::kAddresses)
      throw Error(profile.path() + ": is not of a program that sampled itself; record it again with prof run");
    samples_.period = profile.header().sample_period;
    samples_.lost += profile.lost();
    for (const Thread& thread : profile.threads()) {
      SampledThread sum = {profile.header().pid, thread.tid, thread.name};
      for (const RecordedNode& node : thread.nodes) add_node(profile, node, sum);
      samples_.lost += thread.hook_samples;
      samples_.user += sum.user;
      samples_.kernel += sum.kernel;
      if (sum.user || sum.kernel) samples_.threads.push_back(std::move(sum));
    }
  }

  Samples finish() {
    const uint64_t all = samples_.user + samples_.kernel;
    if (all > 0) samples_.weight = std::max(squares_ / double(all), 1.0);
    for (auto& [path, module] : modules_) samples_.modules.push_back(std::move(module));
    return std::move(samples_);
  }

 private:
  void add_node(const Profile& profile, const RecordedNode& node, SampledThread& sum) {
    const uint64_t count = whole(node.own_samples);
    squares_ += node.sample_weight * (node.own_samples + node.kernel_samples);
    sum.kernel += whole(node.kernel_samples);
    sum.user += count;
    if (count == 0) return;
    for (const Module& module : profile.modules()) {
      if (node.pc < module.start || node.pc >= module.end) continue;
      const Place& place = place_of(module);
      const std::optional<uint64_t> offset = place.offset(node.pc - module.bias);
      if (!offset) break;
      SampledModule& sampled = modules_[place.path()];
      sampled.path = place.path();
      sampled.build_id = place.build_id();
      sampled.counts[*offset] += count;
      return;
    }
    constexpr char kNoFile[] = "[anonymous]";
    SampledModule& other = modules_[kNoFile];
    other.path = kNoFile;
    other.counts[0] += count;
  }

  const Place& place_of(const Module& module) {
    std::unique_ptr<Place>& place = places_[module.path];
    if (!place) place = std::make_unique<Place>(module, program_);
    return *place;
  }

  const std::string& program_;
  Samples samples_;
  double squares_ = 0;  // sum of the squares of the numbers of samples that came at once
  std::map<std::string, SampledModule> modules_;
  std::map<std::string, std::unique_ptr<Place>> places_;
};

}  // namespace

bool can_sample_itself(const std::string& program) { return ElfFile(program).is_dynamic(); }

Samples own_samples(const std::vector<Profile>& profiles, const std::string& program) {
  Collection collection(program);
  for (const Profile& profile : profiles) collection.add(profile);
  return collection.finish();
}

}  // namespace prof
