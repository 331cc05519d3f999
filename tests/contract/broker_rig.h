// What the broker contract needs of a broker to test it: a way to make one, its clock, and the faults that
// it can be made to show.
//
// One rig serves one test. A fault that a rig cannot show is off in `Capabilities`, and the tests that need
// it are skipped with a line that says so; calling it then is a mistake of the test and asserts.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "base/assert.h"
#include "ports/broker.h"

namespace bartleby::contract {

// What becomes of a member's next write.
enum class Fate : std::uint8_t {
  kNotDone,           // it fails on its way and is taken back
  kReplyLostDone,     // it takes effect, and the answer is lost
  kReplyLostNotDone,  // the request to end it is lost: it stays pending
  kLateRequest,       // the request to end it arrives when the member has given up
};

struct Capabilities {
  bool fates = false;             // `fate_of_next_write`
  bool freeze = false;            // `freeze`, `thaw`
  bool kill = false;              // `kill`
  bool moves_generation = false;  // `move_generation`
  bool deletes = false;           // `delete_before`
  bool compacts = false;          // `compact`
  bool denies = false;            // `deny`
  bool stalls = false;            // `stall`
};

class BrokerRig {
 public:
  virtual ~BrokerRig() = default;

  // Why there is no broker, in plain words; empty: there is one.
  virtual std::string missing() const { return {}; }
  virtual Broker& broker() = 0;
  virtual Capabilities can() const = 0;
  virtual Instant now() const = 0;
  // How long a test waits for what must happen, and how long it looks on while something must not.
  virtual Duration limit() const { return Duration(60000); }
  virtual Duration quiet() const { return Duration(2000); }
  // After which a request that is late has come.
  virtual Duration late() const { return Duration(15000); }

  // A topic or group that no other test uses.
  virtual std::string fresh(const std::string& what) { return what + "-" + std::to_string(++names_); }

  virtual void fate_of_next_write(Member&, Fate) { BARTLEBY_UNREACHABLE(); }
  virtual void freeze(Member&) { BARTLEBY_UNREACHABLE(); }
  virtual void thaw(Member&) { BARTLEBY_UNREACHABLE(); }
  virtual void kill(std::unique_ptr<Member>) { BARTLEBY_UNREACHABLE(); }
  // Late requests of members that were killed come now; of most brokers they come by themselves.
  virtual void send_late() {}
  // The group's generation moves and no member's assignment changes.
  virtual void move_generation(const std::string&) { BARTLEBY_UNREACHABLE(); }
  virtual void delete_before(const TopicPartition&, Offset) { BARTLEBY_UNREACHABLE(); }
  // It may have to write a record of its own behind the others first.
  virtual void compact(const TopicPartition&) { BARTLEBY_UNREACHABLE(); }
  virtual void deny(const std::string&, bool) { BARTLEBY_UNREACHABLE(); }
  virtual void stall(const std::string&, bool) { BARTLEBY_UNREACHABLE(); }

 private:
  std::uint64_t names_ = 0;
};

struct RigFactory {
  std::string name;  // letters and digits
  std::function<std::unique_ptr<BrokerRig>()> make;
};

inline void PrintTo(const RigFactory& factory, std::ostream* out) { *out << factory.name; }

}  // namespace bartleby::contract
