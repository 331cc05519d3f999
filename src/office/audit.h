// The audit: lines that are only ever added, each with a hash over itself and the line before.
//
// A changed, removed or inserted line breaks the chain from there on; lines cut off at the end are noticed because the
// head is kept apart. Used inside the transaction that does what the lines say. Whoever can write to the file can
// compute a new chain: keep the head's hash elsewhere to notice that too.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/audit_entry.h"
#include "ports/store.h"

namespace bartleby {

using AuditHash = std::array<unsigned char, 32>;

AuditHash audit_hash(const AuditHash& before, const AuditEntry& entry);

// Lines of one transaction.
class AuditChain {
 public:
  explicit AuditChain(Connection& connection) : connection_(connection) {}

  Result<void> append(AuditEntry entry);  // gives it its number
  Result<void> finish();                  // moves the head; before the transaction ends

 private:
  struct Head {
    std::int64_t seq;
    AuditHash hash;
  };
  Connection& connection_;
  std::optional<Head> head_;
};

// One line, and the head moved.
Result<void> append_audit(Connection& connection, AuditEntry entry);

struct AuditVerdict {
  bool good = true;
  std::int64_t lines = 0;
  std::int64_t bad_line = 0;  // the first that does not follow from the one before
  std::string problem;        // in words
};

// Walks all lines.
Result<AuditVerdict> verify_audit(Connection& connection);

// Newest first, below `before`; of one subject, if one is named.
Result<std::vector<AuditEntry>> audit_page(Connection& connection, std::string_view subject,
                                           std::optional<std::int64_t> before, std::size_t limit);
// Of one subject, or all.
Result<std::int64_t> count_audit(Connection& connection, std::string_view subject);

}  // namespace bartleby
