// What a command that talks to a server works with: the client, the form of the output, colours, the clock.
//
// Made from the options that all such commands share (`server_options`). It lives as long as the command.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "cli/api_client.h"
#include "cli/cli.h"
#include "cli/json_value.h"
#include "cli/table.h"

namespace bartleby::cli {

enum class Form : std::uint8_t { kTable, kJson, kJsonLines, kName };

std::vector<Option> server_options();
// Those, and the command's own before them.
std::vector<Option> with_server_options(std::vector<Option> own);

// `--reason`, and an address that carries it.
Option reason_option();
std::string with_reason(std::string path, const Arguments& arguments);
Option watch_option();

class Session {
 public:
  static std::expected<Session, Failure> open(const Arguments& arguments, const CliContext& context);

  std::expected<JsonValue, Failure> get(const std::string& path);
  std::expected<JsonValue, Failure> post(const std::string& path, const std::string& json);
  std::expected<JsonValue, Failure> patch(const std::string& path, const std::string& json);
  ApiClient& client() { return client_; }

  Form form() const { return form_; }
  bool colours() const { return colours_; }
  std::size_t width() const;  // of the terminal; 0 where there is none
  Timestamp now() const { return context_->now(); }
  std::ostream& out() const { return *context_->out; }
  std::ostream& err() const { return *context_->err; }

  // A document with `items`, in the form that was asked for; `table` is asked only where it is needed. `name` gives an
  // item's name.
  void show_list(const JsonValue& document, const std::function<std::string(const JsonValue& item)>& name,
                 const std::function<std::string()>& table) const;
  void show_one(const JsonValue& document, const std::string& name, const std::function<std::string()>& table) const;
  std::string text_of(const Table& table) const { return table.text(width(), colours_); }
  // Once; with `--watch` again and again until interrupted, also while the server is away.
  Ran repeat(const Arguments& arguments, const std::function<Ran()>& show) const;

 private:
  Session(ApiClient client, const CliContext& context) : client_(std::move(client)), context_(&context) {}
  std::expected<JsonValue, Failure> read(const ApiRequest& request);

  ApiClient client_;
  const CliContext* context_;
  Form form_ = Form::kTable;
  bool colours_ = false;
};

// Keeps the file or variable with the key out of every other part.
std::string api_key(const CliContext& context);

}  // namespace bartleby::cli
