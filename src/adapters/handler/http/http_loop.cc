#include "adapters/handler/http/http_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "adapters/handler/http/http_target.h"
#include "adapters/handler/http/http_transfer.h"
#include "base/assert.h"
#include "base/thread_name.h"

namespace bartleby {
namespace {

constexpr Duration kLookAtWaiting{100};
constexpr std::size_t kIdleHandles = 1024;
constexpr std::size_t kFilesForOthers = 200;

struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};

void init_curl_once() {
  static const CURLcode kDone = curl_global_init(CURL_GLOBAL_DEFAULT);
  BARTLEBY_ASSERT(kDone == CURLE_OK);
}

std::size_t files_allowed() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return static_cast<std::size_t>(limit.rlim_cur);
}

std::size_t room_for(std::size_t wanted) {
  const std::size_t files = files_allowed();
  return std::max<std::size_t>(1, std::min(wanted, files > 2 * kFilesForOthers ? files - kFilesForOthers : files / 2));
}

Duration real_now() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
}

HttpReply without_answer(Transport transport, std::string detail) {
  HttpReply reply;
  reply.transport = transport;
  reply.detail = std::move(detail);
  return reply;
}

}  // namespace

// Everything the thread owns.
class HttpLoop::Core {
 public:
  Core(HttpLoop& loop, HttpLoopOptions options) : loop_(loop), options_(std::move(options)) {
    init_curl_once();
    options_.max_in_flight = room_for(options_.max_in_flight);
    budget_.left = options_.max_large_replies;
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    multi_.reset(curl_multi_init());
    BARTLEBY_ASSERT(epoll_ >= 0 && multi_ != nullptr);
    CURLM* m = multi_.get();
    curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, &Core::on_socket);
    curl_multi_setopt(m, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, &Core::on_timer);
    curl_multi_setopt(m, CURLMOPT_TIMERDATA, this);
    // Busy connections count too: with fewer, every answer would close one as soon as this many are busy.
    curl_multi_setopt(m, CURLMOPT_MAXCONNECTS, static_cast<long>(options_.max_in_flight));
  }

  ~Core() {
    idle_.clear();  // handles before the multi handle that lent them its connections
    multi_.reset();
    close(epoll_);
  }

  void look() { look_ = true; }

  void run() {
    loop_.thread_id_ = std::this_thread::get_id();
    watch(loop_.wake_, EPOLLIN);
    while (take_incoming()) {
      start_waiting();
      wait();
      collect();
      figures_in_flight = running_.size();
      figures_waiting = waiting_;
    }
    stop_all();
  }

  TellTime clock() const { return options_.clock; }

  std::atomic<std::uint64_t> figures_in_flight{0}, figures_waiting{0}, figures_connections{0}, figures_requests{0};

 private:
  void watch(int fd, std::uint32_t events) {
    epoll_event event = {};
    event.events = events;
    event.data.fd = fd;
    // Whether it is there already is the kernel's to know: a number is used again once its file is closed.
    if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) != 0) epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }

  static int on_socket(CURL*, curl_socket_t fd, int what, void* self, void*) {
    auto& core = *static_cast<Core*>(self);
    if (what == CURL_POLL_REMOVE) {
      epoll_ctl(core.epoll_, EPOLL_CTL_DEL, fd, nullptr);
    } else {
      core.watch(fd, ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0U) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0U));
    }
    return 0;
  }

  static int on_timer(CURLM*, long timeout_ms, void* self) {
    static_cast<Core*>(self)->timer_ = timeout_ms < 0 ? Duration::max() : real_now() + Duration(timeout_ms);
    return 0;
  }

  // False: it is time to stop.
  bool take_incoming() {
    batch_.clear();
    look_ = false;
    {
      const std::lock_guard lock(loop_.mutex_);
      if (loop_.stopping_) return false;
      batch_.swap(loop_.incoming_);
    }
    for (Job& job : batch_) {
      if (waiting_ >= options_.max_waiting) {
        job.done(without_answer(Transport::kOverloaded, "too many requests wait in this process"));
        continue;
      }
      HttpTarget& target = *job.target;
      if (!target.listed) {
        target.listed = true;
        targets_.push_back(job.target);
      }
      target.waiting.push_back(std::move(job));
      ++waiting_;
    }
    return true;
  }

  // Targets take turns, so that one with a long queue does not keep the others from the connections.
  void start_waiting() {
    std::size_t stuck = 0;
    while (!targets_.empty() && stuck < targets_.size() && running_.size() < options_.max_in_flight) {
      const std::shared_ptr<HttpTarget> target = std::move(targets_.front());
      targets_.pop_front();
      if (target->waiting.empty()) {
        target->listed = false;
        continue;
      }
      if (target->resolving >= options_.max_resolving) {
        ++stuck;
      } else {
        stuck = 0;
        Job job = std::move(target->waiting.front());
        target->waiting.pop_front();
        --waiting_;
        start(std::move(job));
      }
      targets_.push_back(target);
    }
    if (waiting_ > 0 && real_now() >= look_again_) expire_waiting();
  }

  void start(Job job) {
    const Duration left = job.request.deadline - options_.clock().steady;
    if (job.request.unwanted && job.request.unwanted()) {
      job.done(without_answer(Transport::kStopped, "cancelled before it was sent"));
      return;
    }
    if (left <= Duration(0)) {  // it never left this process: that is no attempt
      job.done(without_answer(Transport::kOverloaded, "no connection was free by the deadline"));
      return;
    }
    std::unique_ptr<HttpTransfer> transfer;
    if (idle_.empty()) {
      transfer = std::make_unique<HttpTransfer>(budget_, connections_made_);
    } else {
      transfer = std::move(idle_.back());
      idle_.pop_back();
    }
    if (!transfer->prepare(std::move(job.target), std::move(job.request), std::move(job.done), left) ||
        curl_multi_add_handle(multi_.get(), transfer->easy()) != CURLM_OK) {
      HttpDone done = transfer->take_done();
      done(without_answer(Transport::kOverloaded, "no memory for the request"));
      return;
    }
    ++figures_requests;
    running_.insert(transfer.release());
  }

  void expire_waiting() {
    look_again_ = real_now() + kLookAtWaiting;
    const Instant now = options_.clock().steady;
    std::vector<Job> late;
    for (const std::shared_ptr<HttpTarget>& target : targets_)
      std::erase_if(target->waiting, [&](Job& job) {
        if (job.request.deadline > now) return false;
        late.push_back(std::move(job));
        return true;
      });
    waiting_ -= late.size();
    for (Job& job : late) job.done(without_answer(Transport::kOverloaded, "no connection was free by the deadline"));
  }

  void wait() {
    Duration until = timer_;
    if (waiting_ > 0) until = std::min(until, look_again_);
    int timeout = -1;
    if (until != Duration::max())
      timeout = static_cast<int>(std::clamp<std::int64_t>((until - real_now()).count(), 0, 60'000));
    if (look_) timeout = 0;
    std::array<epoll_event, 256> events;
    const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
    int running = 0;
    for (int i = 0; i < n; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.fd == loop_.wake_) {
        std::uint64_t count = 0;
        static_cast<void>(!read(loop_.wake_, &count, sizeof count));
        continue;
      }
      const int what = ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                       ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                       ((event.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
      curl_multi_socket_action(multi_.get(), event.data.fd, what, &running);
    }
    if (timer_ <= real_now()) {
      timer_ = Duration::max();
      curl_multi_socket_action(multi_.get(), CURL_SOCKET_TIMEOUT, 0, &running);
    }
  }

  void collect() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      char* self = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &self);
      finish(reinterpret_cast<HttpTransfer*>(self), code);
    }
    figures_connections = connections_made_;
  }

  void finish(HttpTransfer* transfer, CURLcode code) {
    running_.erase(transfer);
    std::unique_ptr<HttpTransfer> owned(transfer);
    curl_multi_remove_handle(multi_.get(), owned->easy());
    const bool late = options_.clock().steady + Duration(2) >= owned->request().deadline;  // two clocks, rounded
    HttpReply reply = owned->result(code, late);
    HttpDone done = owned->take_done();
    owned->release();
    if (idle_.size() < kIdleHandles) idle_.push_back(std::move(owned));
    done(std::move(reply));
  }

  void stop_all() {
    std::vector<HttpDone> all;
    for (HttpTransfer* transfer : running_) {
      const std::unique_ptr<HttpTransfer> owned(transfer);
      curl_multi_remove_handle(multi_.get(), owned->easy());
      all.push_back(owned->take_done());
    }
    running_.clear();
    for (const std::shared_ptr<HttpTarget>& target : targets_) {
      for (Job& job : target->waiting) all.push_back(std::move(job.done));
      target->waiting.clear();
    }
    targets_.clear();
    {
      const std::lock_guard lock(loop_.mutex_);
      for (Job& job : loop_.incoming_) all.push_back(std::move(job.done));
      loop_.incoming_.clear();
    }
    for (HttpDone& done : all) done(without_answer(Transport::kStopped, "this process is stopping"));
    figures_in_flight = figures_waiting = 0;
  }

  HttpLoop& loop_;
  HttpLoopOptions options_;
  int epoll_ = -1;
  std::unique_ptr<CURLM, MultiDeleter> multi_;
  ReplyBudget budget_;
  std::uint64_t connections_made_ = 0;
  std::vector<Job> batch_;
  std::deque<std::shared_ptr<HttpTarget>> targets_;  // that have something waiting
  std::size_t waiting_ = 0;
  std::unordered_set<HttpTransfer*> running_;
  std::vector<std::unique_ptr<HttpTransfer>> idle_;
  Duration timer_ = Duration::max();  // when libcurl wants to be called
  Duration look_again_{0};
  bool look_ = false;  // something was posted by this thread itself
};

HttpLoop::HttpLoop(HttpLoopOptions options) : core_(std::make_unique<Core>(*this, std::move(options))) {
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  BARTLEBY_ASSERT(wake_ >= 0);
  thread_ = std::thread([this] {
    name_thread("push");
    core_->run();
  });
}

HttpLoop::~HttpLoop() {
  stop();
  close(wake_);
}

Result<std::shared_ptr<HttpTarget>> HttpLoop::target(HttpTargetOptions options) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> url(curl_url(), curl_url_cleanup);
  char* scheme = nullptr;
  if (curl_url_set(url.get(), CURLUPART_URL, options.url.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
      curl_url_get(url.get(), CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
    return fail(ErrorCode::kInvalid, "not an address of a web service: " + options.url);
  const std::string_view found(scheme);
  const bool known = found == "http" || found == "https";
  curl_free(scheme);
  if (!known) return fail(ErrorCode::kInvalid, "neither http nor https: " + options.url);
  static std::atomic<std::uint64_t> last_id{0};
  return std::make_shared<HttpTarget>(++last_id, std::move(options));
}

void HttpLoop::post(std::shared_ptr<HttpTarget> target, HttpRequest request, HttpDone done) {
  std::unique_lock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    done(without_answer(Transport::kStopped, "this process is stopping"));
    return;
  }
  const bool first = incoming_.empty();
  incoming_.push_back({std::move(target), std::move(request), std::move(done)});
  lock.unlock();
  if (!first) return;
  // From inside an answer, as the next message of a stretch is: the loop only has to look before it waits.
  if (std::this_thread::get_id() == thread_id_) return core_->look();
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_, &one, sizeof one));
}

void HttpLoop::stop() {
  BARTLEBY_ASSERT(std::this_thread::get_id() != thread_.get_id());  // it would wait for itself
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_, &one, sizeof one));
  if (thread_.joinable()) thread_.join();
}

TellTime HttpLoop::clock() const { return core_->clock(); }

HttpLoopFigures HttpLoop::figures() const {
  return {core_->figures_in_flight, core_->figures_waiting, core_->figures_connections, core_->figures_requests};
}

}  // namespace bartleby
