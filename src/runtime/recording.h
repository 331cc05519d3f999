// What an engine was told and a hash of what it answered, step by step, as bytes: a run of a real worker can be
// repeated through a fresh engine later and elsewhere, and must end the same.
//
// A recording holds the engine's configuration, then per step the time, the events and the hash of the commands. It
// holds no payload, key, header or error text: the engine itself never sees them. (It holds offsets, record times,
// sizes, 32-bit hashes of keys, commit metadata and the transactional id.) The events of a step are handed to the sink
// before the engine takes them, so a process that dies in a step leaves what killed it. One thread. When the sink
// fails or the limit is reached it stops for good and says why; the worker goes on. The reader takes its bytes for
// hostile; a last step that is cut off is not an error, because processes are killed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/commands.h"

namespace bartleby {

// Of everything the commands say.
std::uint64_t hash_of(const Commands& commands);

class EventRecorder {
 public:
  using Sink = std::function<bool(std::string_view bytes)>;  // false: it takes no more
  using Stopped = std::function<void(const std::string& why)>;
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

  EventRecorder(const EngineConfig& config, Sink sink, Stopped stopped = {}, std::size_t max_bytes = kMaxBytes);
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  // Around every step of the engine.
  void before(std::span<const Event> events, std::span<const Completion> completions, Now now);
  void after(const Commands& commands);

 private:
  void frame(char type, std::string_view payload);
  void hand_over();
  void stop(const std::string& why);

  Sink sink_;
  Stopped stopped_;
  std::size_t room_;
  std::string waiting_;  // the last answer: goes with the next events, so that a step costs one call of the sink
};

// Into a new file of this folder, named after the worker and the time; a file per life of a member.
Result<std::unique_ptr<EventRecorder>> record_to_file(const std::string& folder, std::string_view worker, Timestamp now,
                                                      const EngineConfig& config, EventRecorder::Stopped stopped);

struct RecordedStep {
  Now now{};
  std::vector<Event> events;
  std::vector<Completion> completions;
  std::vector<std::vector<RecordRef>> batches;  // what the events' records lie in
  std::optional<std::uint64_t> answer;          // absent: the process died in this step
};

class RecordingReader {
 public:
  // kMalformed: it is no recording; kUnsupported: of another version. `bytes` must outlive the reader.
  static Result<RecordingReader> open(std::string_view bytes);

  const EngineConfig& config() const { return config_; }
  // False: that was all. kMalformed names the place.
  Result<bool> next(RecordedStep& step);
  bool cut_off() const { return cut_off_; }  // the last step is not whole

 private:
  struct Frame {
    char type;
    std::string_view payload;
  };
  explicit RecordingReader(std::string_view bytes) : bytes_(bytes) {}
  Result<std::optional<Frame>> frame();
  std::unexpected<Error> malformed(const std::string& what) const;

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool cut_off_ = false;
  EngineConfig config_;
};

}  // namespace bartleby
