// The headers of one POST of the push protocol. The body is the record's value and is not touched.
//
// Worker, topic and ids are ours, but keys, header names and values come from whoever wrote the record. Nothing of
// them can start a header of its own: keys and ids are percent-encoded; a record header that is copied by its name
// (traceparent, tracestate, ce-*, content-type) is left out unless it is a token with printable ASCII. All of the
// record's headers, byte for byte and in their order, are in Bartleby-Headers. Of a repeated name the last one counts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "codec/webhook.h"
#include "ports/handler.h"

namespace bartleby {

struct PushStyle {
  const WebhookSigner* signer = nullptr;                     // none: no signature
  std::vector<std::pair<std::string, std::string>> headers;  // sent with every request, as configured
  std::vector<std::string> copy;                             // further record headers to copy by name, lower case
};

// Beyond this libcurl does not send a request; servers refuse far less.
constexpr std::size_t kMaxPushHeaders = std::size_t{512} << 10;

// `Name: value` lines, each ended by a NUL: one piece of memory, as there are twenty to a request.
Result<std::string> push_headers(const AttemptIn& attempt, const PushStyle& style, Timestamp now);

// May it be a header, whatever it says?
bool is_header_name(std::string_view name);
bool is_header_value(std::string_view value);

}  // namespace bartleby
