// What of a message is shown to people, and what is hidden: by their scopes, and by the rules of `office.redact`.
//
// For display only: the stored bytes stay, and so does a letter's value as an attachment. A JSON rule is a pointer in
// which `*` is any one step and `**` any number of them; it counts for values that are JSON, and what it does not hide
// keeps its digits. A value that looks like JSON and cannot be read is hidden whole. A header rule is a name, in any
// case. Built once, then only read, by any thread.
#pragma once

#include <bartleby/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "server/access_options.h"

namespace bartleby {

struct JsonTree;

constexpr std::string_view kHidden = "[redacted]";
constexpr std::string_view kHiddenWhole = "[redacted: it looks like JSON and cannot be read]";

class Redaction {
 public:
  Redaction() = default;
  explicit Redaction(const RedactionRules& rules);

  Headers headers(Headers headers) const;
  // The value with what the rules hide replaced; the very bytes where they hide nothing of it.
  Bytes value(const Bytes& value) const;
  // `header.x`, or a pointer into a JSON value: of what is hidden, or of something in it.
  bool hides(std::string_view name) const;

 private:
  using Steps = std::vector<std::string>;
  bool hides(const Steps& path) const;
  bool redact(JsonTree& node, Steps& path) const;  // whether it has changed something

  std::vector<Steps> json_;
  std::vector<std::string> headers_;  // in lower case
};

}  // namespace bartleby
