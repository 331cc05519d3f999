// Calls to a server's HTTP API, one after the other over one connection.
//
// Bounded: connecting takes 5 s at most, a call 60 s, an answer 64 MB. A server that is not there, is too slow or is
// something else is a `Failure` with what to do about it; any answer with a status is a reply, and `failure_of` turns
// a problem document into a sentence. Redirects are not followed. One thread.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "cli/arguments.h"
#include "cli/json_value.h"

namespace bartleby::cli {

struct ApiRequest {
  std::string method = "GET";
  std::string path;  // with its query
  std::string body = {};
  std::vector<std::string> headers = {};  // `Name: value`
  Duration timeout = std::chrono::seconds(60);
};

struct ApiReply {
  int status = 0;
  std::string content_type;
  std::string body;
};

class ApiClient {
 public:
  // `server` is `http://host:port` or `https://…`, `key` is empty where there is none.
  static std::expected<ApiClient, Failure> open(const std::string& server, const std::string& key);

  ApiClient(ApiClient&& other) noexcept;
  ApiClient& operator=(ApiClient&& other) noexcept;
  ~ApiClient();

  std::expected<ApiReply, Failure> call(const ApiRequest& request);
  const std::string& server() const { return server_; }

 private:
  struct Handle;
  ApiClient(std::string server, std::string key);

  std::string server_, key_;
  std::unique_ptr<Handle> handle_;
};

// What a reply that is not a success tells.
Failure failure_of(const ApiReply& reply, const std::string& server);
int exit_status_of(int http_status);

// Percent-encoded, fit for one segment of a path, a value of a query, or a header.
std::string encoded(std::string_view bytes);

}  // namespace bartleby::cli
