// What people do to one letter, and how it is answered: replay, discard, restore. Shared by the routes that do it.
//
// Any thread. A discard or restore is one transaction. A replay is an operation of one letter: it is answered on the
// thread that carries operations out, when the broker has the message (200) or after 5 s (202 with the operation).
#pragma once

#include <string>

#include "model/audit_entry.h"
#include "model/operation_facts.h"
#include "server/http.h"
#include "server/services.h"

namespace bartleby {

// Schemas of the answers.
constexpr std::string_view kReplayedAnswer = R"({"type": "object", "required": ["id", "state", "operation", "to",
    "also_read_by"], "additionalProperties": false, "properties": {"id": {"type": "string"},
    "state": {"type": "string"}, "operation": {"type": "string"}, "to": {"$ref": "#/components/schemas/Place"},
    "also_read_by": {"type": "array", "description": "other groups that get it", "items": {"type": "string"}}}})";
constexpr std::string_view kDiscardedAnswer = R"({"type": "object", "required": ["id", "state", "undo_until"],
  "additionalProperties": false, "properties": {"id": {"type": "string"}, "state": {"type": "string"},
    "undo_until": {"$ref": "#/components/schemas/Time"}}})";
constexpr std::string_view kRestoredAnswer = R"({"type": "object", "required": ["id", "state"],
  "additionalProperties": false, "properties": {"id": {"type": "string"}, "state": {"type": "string"}}})";

void replay_letter(const Services& services, const std::string& id, OperationSettings settings, const Actor& actor,
                   Respond respond);
Response discard_letter(const Services& services, const std::string& id, const Actor& actor);
Response restore_letter(const Services& services, const std::string& id, const Actor& actor);

Response unknown_letter(const std::string& id);

}  // namespace bartleby
