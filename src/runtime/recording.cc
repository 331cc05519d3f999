#include "runtime/recording.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/hash.h"
#include "runtime/recording_fields.h"

namespace bartleby {
namespace {

using recording::ByteReader;
using recording::ByteWriter;

constexpr std::string_view kMagic = "bartleby events ";
constexpr std::string_view kVersion = "6\n";
constexpr char kConfigFrame = 'c';
constexpr char kEventsFrame = 'e';
constexpr char kAnswerFrame = 'a';
constexpr std::size_t kMaxFrame = std::size_t{64} << 20;
constexpr std::size_t kMaxCases = 65536;  // a case is named by 16 bits

// A file that takes what it is given, whole or not at all.
class EventFile {
 public:
  explicit EventFile(int fd) : fd_(fd) {}
  ~EventFile() { ::close(fd_); }
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  bool write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

 private:
  int fd_;
};

bool are_whole(const std::vector<RetryPolicy>& cases) {
  return !cases.empty() && cases.size() <= kMaxCases && std::ranges::none_of(cases, [](const RetryPolicy& policy) {
    const auto* schedule = std::get_if<Schedule>(&policy.backoff);
    return schedule != nullptr && schedule->steps.empty();
  });
}

bool has_cases(const EngineConfig& config, const std::vector<RecordRef>& records) {
  return std::ranges::all_of(records, [&](const RecordRef& r) { return r.case_id < config.cases.size(); });
}

}  // namespace

std::uint64_t hash_of(const Commands& commands) {
  ByteWriter out;
  out(commands);
  return hash64(out.bytes);
}

// ---- writing -------------------------------------------------------------------------------------------

EventRecorder::EventRecorder(const EngineConfig& config, Sink sink, Stopped stopped, std::size_t max_bytes)
    : sink_(std::move(sink)), stopped_(std::move(stopped)), room_(max_bytes) {
  waiting_ = std::string(kMagic) + std::string(kVersion);
  ByteWriter out;
  out(config);
  frame(kConfigFrame, out.bytes);
  hand_over();
}

EventRecorder::~EventRecorder() { hand_over(); }

void EventRecorder::frame(char type, std::string_view payload) {
  ByteWriter head;
  head(payload.size());
  waiting_ += type;
  waiting_ += head.bytes;
  waiting_ += payload;
}

void EventRecorder::before(std::span<const Event> events, std::span<const Completion> completions, Now now) {
  if (!sink_) return;
  ByteWriter out;
  out(now, events, completions);
  if (out.bytes.size() > kMaxFrame) return stop("a step is larger than a recording may hold");
  frame(kEventsFrame, out.bytes);
  hand_over();
}

void EventRecorder::after(const Commands& commands) {
  if (!sink_) return;
  const std::uint64_t hash = hash_of(commands);
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(hash >> shift));
  frame(kAnswerFrame, bytes);
}

void EventRecorder::hand_over() {
  if (!sink_ || waiting_.empty()) return;
  if (waiting_.size() > room_) return stop("the recording has reached its largest size");
  room_ -= waiting_.size();
  if (!sink_(waiting_)) return stop("the recording cannot be written");
  waiting_.clear();
}

void EventRecorder::stop(const std::string& why) {
  sink_ = nullptr;
  waiting_.clear();
  if (stopped_) stopped_(why);
}

Result<std::unique_ptr<EventRecorder>> record_to_file(const std::string& folder, std::string_view worker, Timestamp now,
                                                      const EngineConfig& config, EventRecorder::Stopped stopped) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  std::string name(worker);
  for (char& c : name)
    if (c == '/' || c == '\0') c = '_';
  // The transactional id has a random part, so that no two lives have one name.
  name += "." + std::to_string(ms(now)) + "." + std::to_string(hash64(config.writer)) + ".events";
  const std::string path = std::filesystem::path(folder) / name;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return fail(ErrorCode::kUnavailable, path + ": " + std::generic_category().message(errno));
  auto file = std::make_shared<EventFile>(fd);
  return std::make_unique<EventRecorder>(
      config, [file](std::string_view bytes) { return file->write(bytes); }, std::move(stopped));
}

// ---- reading -------------------------------------------------------------------------------------------

std::unexpected<Error> RecordingReader::malformed(const std::string& what) const {
  return fail(ErrorCode::kMalformed, what + " before byte " + std::to_string(at_));
}

// Absent: the end, or a frame that is cut off.
Result<std::optional<RecordingReader::Frame>> RecordingReader::frame() {
  const std::string_view left = bytes_.substr(at_);
  if (left.empty()) return std::nullopt;
  ByteReader in(left.substr(1), nullptr);
  const std::uint64_t size = in.number();
  if (!in.good() || size > in.left().size()) {
    if (in.good() ? size > kMaxFrame : left.size() > 10) return malformed("a length that cannot be");
    at_ = bytes_.size();
    cut_off_ = true;
    return std::nullopt;
  }
  if (size > kMaxFrame) return malformed("a length that cannot be");
  const Frame found{left.front(), in.left().substr(0, size)};
  at_ = bytes_.size() - in.left().size() + size;
  return found;
}

Result<RecordingReader> RecordingReader::open(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return fail(ErrorCode::kMalformed, "it is no recording of events");
  if (!bytes.substr(kMagic.size()).starts_with(kVersion))
    return fail(ErrorCode::kUnsupported,
                "the recording is of another version; replay it with the program that wrote it");
  RecordingReader reader(bytes);
  reader.at_ = kMagic.size() + kVersion.size();
  auto first = reader.frame();
  if (!first) return std::unexpected(first.error());
  if (!*first || (*first)->type != kConfigFrame) return reader.malformed("there is no configuration");
  ByteReader in((*first)->payload, nullptr);
  in(reader.config_);
  if (!in.good() || !in.left().empty() || !are_whole(reader.config_.cases))
    return reader.malformed("the configuration makes no sense");
  return reader;
}

Result<bool> RecordingReader::next(RecordedStep& step) {
  step = {};
  auto told = frame();
  if (!told) return std::unexpected(told.error());
  if (!*told) return false;
  if ((*told)->type != kEventsFrame) return malformed("no events where a step begins");
  ByteReader in((*told)->payload, &step.batches);
  in(step.now, step.events, step.completions);
  if (!in.good() || !in.left().empty()) return malformed("events that make no sense");
  const bool known = std::ranges::all_of(step.batches, [this](const auto& b) { return has_cases(config_, b); }) &&
                     std::ranges::all_of(step.events, [this](const Event& event) {
                       const auto* read = std::get_if<ReadIn>(&event);
                       const auto* now = std::get_if<SettingsIn>(&event);
                       if (now != nullptr)
                         return now->settings->cases.size() == config_.cases.size() && are_whole(now->settings->cases);
                       return read == nullptr || has_cases(config_, read->records);
                     });
  if (!known) return malformed("a record of a case that there is not");
  auto answered = frame();
  if (!answered) return std::unexpected(answered.error());
  if (!*answered) {
    cut_off_ = true;
    return true;
  }
  if ((*answered)->type != kAnswerFrame || (*answered)->payload.size() != 8) return malformed("no answer to a step");
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < 8; ++i)
    hash |= std::uint64_t{static_cast<unsigned char>((*answered)->payload[i])} << (8 * i);
  step.answer = hash;
  return true;
}

}  // namespace bartleby
