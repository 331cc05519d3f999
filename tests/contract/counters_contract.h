// The fixture of the counters contract: what every implementation of ports/counters.h must do.
//
// The tests are in counters_test.cc, and a rig registers its cache with INSTANTIATE_TEST_SUITE_P. A rig lets time pass:
// one with a clock of its own winds it, one with a server waits that long, so spans are short. Keys are fresh for each
// test, so that a server's cache may be shared.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "ports/counters.h"

namespace bartleby::contract {

class CountersRig {
 public:
  virtual ~CountersRig() = default;
  virtual std::string why_not() const { return ""; }  // it cannot be had here; empty: it can
  virtual Counters& counters() = 0;
  virtual void pass(Duration time) = 0;
  // A key or type that no other test uses.
  virtual std::string fresh(const std::string& what) = 0;
};

struct CountersRigFactory {
  std::string name;  // letters and digits
  std::function<std::unique_ptr<CountersRig>()> make;
};

inline void PrintTo(const CountersRigFactory& factory, std::ostream* out) { *out << factory.name; }

class CountersContract : public testing::TestWithParam<CountersRigFactory> {
 protected:
  void SetUp() override {
    rig_ = GetParam().make();
    if (const std::string why = rig_->why_not(); !why.empty()) GTEST_SKIP() << why;
  }
  CountersRig& rig() { return *rig_; }
  Counters& counters() { return rig_->counters(); }

  static constexpr Duration kShort{400};
  static constexpr Duration kHalf{250};  // twice this is longer than kShort
  static constexpr Duration kLong = std::chrono::hours(1);

 private:
  std::unique_ptr<CountersRig> rig_;
};

}  // namespace bartleby::contract
