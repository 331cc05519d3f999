// Letters, issues and lines of the audit as the API shows them; who did a request, for the audit.
// Pure, but for `IssueNames`, which asks the store for ids that it does not know yet.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "model/audit_entry.h"
#include "model/issue.h"
#include "model/stored_letter.h"
#include "office/issue_facts.h"
#include "ports/store.h"
#include "server/json.h"
#include "server/redaction.h"
#include "server/services.h"

namespace bartleby {

// Ids of issues by their numbers; for one read of the store.
class IssueNames {
 public:
  Result<std::string> of(Connection& connection, std::int64_t number);

 private:
  std::map<std::int64_t, std::string> known_;
};

// What one caller is shown.
struct View {
  bool payload = true;  // keys, headers, previews
  const Redaction* redaction = nullptr;
  RuleOf rule_of{};  // how letters are kept
};
View view_of(const Services& services, const Request& request);

json::object letter_json(const StoredLetter& letter, const std::string& issue, const View& view);
Result<json::array> letters_json(Connection& connection, const std::vector<StoredLetter>& letters, const View& view);
// The beginning of a value: text up to a character's end, or base64.
json::value preview_json(const Bytes& value);

json::object issue_json(const Issue& issue, const std::array<std::int64_t, 24>& trend, const IssuePlaces& places);
json::object shared_json(const SharedFacts& shared, const View& view);
// Without `payload` no edit of a message.
json::object audit_json(const AuditEntry& entry, const View& view);

// The reason of the request's address counts before the other one.
Actor actor_of(const Request& request, std::string reason);

}  // namespace bartleby
