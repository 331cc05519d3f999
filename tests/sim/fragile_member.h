// The member of a simulated process: the broker's own, and on top of it what can be wrong with the process.
//
// It crashes its owner at the n-th call when told so, by throwing through it. It also plays releases of the worker: the
// engine above is always the same, and version 2 of the commit metadata is version 1 under another name, with fields
// in the journal that version 1 does not know.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/sim/coverage.h"
#include "tests/sim/sim_member.h"

namespace bartleby::sim {

// A release reads a version before any release writes it.
enum class Release : std::uint8_t { kOld, kReadsNewer, kWritesNewer };

bool is_version_2(const std::string& metadata);
std::string as_version_1(std::string metadata);

struct CrashNow {};  // thrown through a worker to drop it between two commands

class FragileMember : public Member {
 public:
  FragileMember(SimMember& inner, Release release, Coverage& coverage, std::function<void(const Write&)> on_write)
      : inner_(inner), release_(release), coverage_(coverage), on_write_(std::move(on_write)) {}

  void crash_in(std::uint32_t calls) { left_ = calls; }

  void poll(std::vector<BrokerEvent>& out, Duration wait) override;
  void start(PartitionRef ref, Offset from) override { count(), inner_.start(ref, from); }
  void set_intake(PartitionRef ref, bool open) override { count(), inner_.set_intake(ref, open); }
  void release(PartitionRef ref) override { count(), inner_.release(ref); }
  void write(Write w) override;
  void resolve(WriteSerial serial) override { count(), inner_.resolve(serial); }
  void read_offsets(std::uint64_t r, std::vector<TopicPartition> tps, Stability s) override {
    count(), inner_.read_offsets(r, std::move(tps), s);
  }
  void fence_writer(std::uint64_t r, const std::string& id) override { count(), inner_.fence_writer(r, id); }
  void read_range(std::uint64_t r, TopicPartition tp, Offset from, Offset to, LaneFilter f) override {
    count(), inner_.read_range(r, std::move(tp), from, to, std::move(f));
  }
  void cancel_range(std::uint64_t r) override { count(), inner_.cancel_range(r); }
  void read_log_range(std::uint64_t r, TopicPartition tp) override { count(), inner_.read_log_range(r, std::move(tp)); }
  const std::string& transactional_id() const override { return inner_.transactional_id(); }
  void wake() override { inner_.wake(); }
  void leave() override { inner_.leave(); }

 private:
  void count() {
    if (left_ > 0 && --left_ == 0) throw CrashNow{};
  }

  SimMember& inner_;
  const Release release_;
  Coverage& coverage_;
  std::function<void(const Write&)> on_write_;
  std::uint32_t left_ = 0;
};

}  // namespace bartleby::sim
