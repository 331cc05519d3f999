// One POST on its way: an easy handle, what it needs alive, and the answer as it arrives.
//
// Lives on the loop's thread. A handle that served another target is reset first and keeps nothing of it but the
// connections, which the multi handle owns; for the same target only what differs by request is set anew.
#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <vector>

#include "adapters/handler/http/http_loop.h"

namespace bartleby {

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};

// Of the loop, seen by its transfers.
struct ReplyBudget {
  std::size_t left = 0;  // bytes of long answers that may still be held
};

class HttpTransfer {
 public:
  HttpTransfer(ReplyBudget& budget, std::uint64_t& connections_made)
      : budget_(budget), connections_made_(connections_made) {}
  ~HttpTransfer() { release(); }
  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  // False: out of memory.
  bool prepare(std::shared_ptr<HttpTarget> target, HttpRequest request, HttpDone done, Duration left);

  // The answer, once libcurl is through with it or was told to stop.
  HttpReply result(CURLcode code, bool deadline_passed);

  // Ready for another request.
  void release();

  CURL* easy() const { return easy_.get(); }
  HttpTarget& target() const { return *target_; }
  const HttpRequest& request() const { return request_; }
  HttpDone take_done() { return std::move(done_); }

 private:
  static curl_socket_t open_socket(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int before_request(void* self, char* remote, char* local, int remote_port, int local_port);
  static std::size_t on_header(char* bytes, std::size_t one, std::size_t size, void* self);
  static std::size_t on_body(char* bytes, std::size_t one, std::size_t size, void* self);

  bool configure();
  curl_slist* header_list();
  bool header_line(std::string_view line);
  bool body_bytes(std::string_view bytes);
  void resolved();

  ReplyBudget& budget_;
  std::uint64_t& connections_made_;
  std::unique_ptr<CURL, EasyDeleter> easy_;
  std::vector<curl_slist> headers_;  // point into `request_`
  std::shared_ptr<HttpTarget> target_;
  HttpRequest request_;
  HttpDone done_;
  std::uint64_t configured_for_ = 0;  // id of a target; 0: none
  HttpReply reply_;
  std::size_t header_bytes_ = 0, body_bytes_ = 0, borrowed_ = 0;
  Transport given_up_ = Transport::kReplied;   // why one of our callbacks ended it
  Transport no_socket_ = Transport::kReplied;  // why there was none for an address
  bool in_headers_ = false, headers_whole_ = false, resolving_ = false, opened_ = false;
  std::array<char, CURL_ERROR_SIZE> error_{};
};

}  // namespace bartleby
