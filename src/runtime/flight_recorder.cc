#include "runtime/flight_recorder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <system_error>

namespace bartleby {
namespace {

constexpr std::uint64_t kMagic = 0x3152464c42ULL;  // "BLFR1"
constexpr std::size_t kTopic = 256;

enum SlotState : std::uint32_t { kFree = 0, kClaimed = 1, kRunning = 2 };

struct Slot {
  std::atomic<std::uint32_t> state;
  std::atomic<std::uint32_t> faulting;
  std::uint32_t attempt;
  std::uint32_t alone;
  std::int64_t offset;
  std::int64_t timestamp;
  std::int32_t partition;
  std::uint32_t topic_size;
  std::array<char, kTopic> topic;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

thread_local std::atomic<std::uint32_t>* t_faulting = nullptr;  // of the slot whose code this thread runs

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// The page is shared with a file, so that what is stored here is there after the process. Then the signal does what it
// would have done: the handler was installed with SA_RESETHAND, and it is raised again on return.
void on_fault(int signal) {
  if (t_faulting != nullptr) t_faulting->store(1, std::memory_order_relaxed);
  ::raise(signal);
}

// Where a handler of signals runs when the thread's own stack is used up. It ends with its thread, which then has again
// what it had before: the memory is gone.
class AlternateStack {
 public:
  AlternateStack() {
    stack_t ours{};
    ours.ss_sp = bytes_.get();
    ours.ss_size = kSize;
    ::sigaltstack(&ours, &before_);
  }
  ~AlternateStack() { ::sigaltstack(&before_, nullptr); }
  AlternateStack(const AlternateStack&) = delete;
  AlternateStack& operator=(const AlternateStack&) = delete;

 private:
  static constexpr std::size_t kSize = 64 * 1024;
  const std::unique_ptr<std::byte[]> bytes_ = std::make_unique<std::byte[]>(kSize);
  stack_t before_{};
};

}  // namespace

struct FlightRecorder::Page {
  std::uint64_t magic;
  std::uint64_t incarnation;
  std::uint32_t slots;
  std::uint32_t slot_size;
  std::array<Slot, kSlots> slot;
};

Result<std::unique_ptr<FlightRecorder>> FlightRecorder::open(const std::filesystem::path& file,
                                                             std::uint64_t incarnation) {
  const auto refuse = [&](const char* what) {
    return fail(ErrorCode::kUnavailable,
                "flight recorder " + file.string() + ": " + what + ": " + std::generic_category().message(errno));
  };
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return refuse("cannot open");
  struct stat info{};
  const bool known = ::fstat(fd, &info) == 0 && info.st_size == static_cast<off_t>(sizeof(Page));
  if (!known && ::ftruncate(fd, 0) != 0) return ::close(fd), refuse("cannot empty");
  // Real blocks, not a hole: a full disk must be told now, not by a fault in the middle of a handler.
  if (const int error = ::posix_fallocate(fd, 0, sizeof(Page)); error != 0) {
    ::close(fd);
    errno = error;
    return refuse("no room");
  }
  void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (memory == MAP_FAILED) return refuse("cannot map");
  auto* page = static_cast<Page*>(memory);
  std::vector<Casualty> casualties;
  if (known && page->magic == kMagic && page->slots == kSlots && page->slot_size == sizeof(Slot)) {
    std::size_t running = 0;
    for (const Slot& slot : page->slot) running += slot.state.load() == kRunning ? 1u : 0u;
    for (const Slot& slot : page->slot) {
      if (slot.state.load() != kRunning || slot.topic_size == 0 || slot.topic_size > kTopic) continue;
      Casualty c;
      c.flight.journal.assign(slot.topic.data(), slot.topic_size);
      c.flight.partition = Partition(slot.partition);
      c.flight.offset = Offset(slot.offset);
      c.flight.timestamp = timestamp_ms(slot.timestamp);
      c.flight.attempt = slot.attempt;
      c.flight.alone = slot.alone != 0 && running == 1;
      c.incarnation = page->incarnation;
      c.faulting = slot.faulting.load() != 0;
      casualties.push_back(std::move(c));
    }
    // They stay in the file until their obituaries are durable; a death before that must not lose them.
    if (casualties.empty()) page->incarnation = incarnation;
  } else {
    std::memset(memory, 0, sizeof(Page));
    page->incarnation = incarnation;
    page->slots = kSlots;
    page->slot_size = sizeof(Slot);
    page->magic = kMagic;
  }
  std::unique_ptr<FlightRecorder> recorder(new FlightRecorder(page, std::move(casualties)));
  recorder->incarnation_ = incarnation;
  return recorder;
}

FlightRecorder::FlightRecorder(Page* page, std::vector<Casualty> casualties)
    : page_(page), casualties_(std::move(casualties)) {}

FlightRecorder::~FlightRecorder() { ::munmap(page_, sizeof(Page)); }

void FlightRecorder::forget_casualties() {
  casualties_.clear();
  clear();
  page_->incarnation = incarnation_;
}

void FlightRecorder::clear() {
  for (Slot& slot : page_->slot) {
    slot.state.store(kFree);
    slot.faulting.store(0);
  }
}

std::uint32_t FlightRecorder::begin(const FlightEntry& flight) {
  const std::uint32_t slot = claim();
  name_journal(slot, flight.journal);
  run(slot, flight.partition, flight.offset, flight.timestamp, flight.attempt, flight.alone);
  return slot;
}

std::uint32_t FlightRecorder::claim() {
  // Mostly the next one is free; a full page is looked through once.
  const std::uint32_t start = next_.fetch_add(1, std::memory_order_relaxed);
  for (std::uint32_t k = 0; k < kSlots; ++k) {
    const std::uint32_t i = (start + k) % kSlots;
    Slot& slot = page_->slot[i];
    std::uint32_t expected = kFree;
    if (slot.state.load(std::memory_order_relaxed) == kFree && slot.state.compare_exchange_strong(expected, kClaimed))
      return i;
  }
  without_slot_.fetch_add(1, std::memory_order_relaxed);
  return kNoSlot;
}

void FlightRecorder::name_journal(std::uint32_t number, std::string_view topic) {
  if (number == kNoSlot) return;
  Slot& slot = page_->slot[number];
  slot.topic_size = static_cast<std::uint32_t>(std::min(topic.size(), kTopic));
  std::memcpy(slot.topic.data(), topic.data(), slot.topic_size);
}

void FlightRecorder::run(std::uint32_t number, Partition partition, Offset offset, Timestamp timestamp,
                         std::uint32_t attempt, bool alone) {
  if (number == kNoSlot) return;
  Slot& slot = page_->slot[number];
  slot.faulting.store(0, std::memory_order_relaxed);
  slot.attempt = attempt;
  slot.alone = alone ? 1 : 0;
  slot.offset = offset.v;
  slot.timestamp = ms(timestamp);
  slot.partition = partition.v;
  slot.state.store(kRunning, std::memory_order_release);
}

void FlightRecorder::rest(std::uint32_t slot) {
  if (slot != kNoSlot) page_->slot[slot].state.store(kClaimed, std::memory_order_release);
}

void FlightRecorder::end(std::uint32_t slot) {
  if (slot != kNoSlot) page_->slot[slot].state.store(kFree, std::memory_order_release);
}

void FlightRecorder::mark(std::uint32_t slot) {
  if (slot != kNoSlot) page_->slot[slot].faulting.store(1, std::memory_order_relaxed);
}

void FlightRecorder::enter(const FlightRecorder* recorder, std::uint32_t slot) {
  t_faulting = recorder == nullptr || slot == kNoSlot ? nullptr : &recorder->page_->slot[slot].faulting;
}

void FlightRecorder::leave() { t_faulting = nullptr; }

void FlightRecorder::install_signal_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_handler = on_fault;
    action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    for (const int signal : kSignals) ::sigaction(signal, &action, nullptr);
  });
}

void FlightRecorder::alternate_stack() { thread_local const AlternateStack kStack; }

}  // namespace bartleby
