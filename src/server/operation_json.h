// Operations and their letters as the API shows them, and how a request for one is read.
// Pure.
#pragma once

#include <expected>

#include "model/operation_facts.h"
#include "office/operation_plan.h"
#include "office/operations.h"
#include "server/json.h"
#include "server/office_json.h"

namespace bartleby {

// Without `payload` nothing that messages hold: no edit, no previews, no selection by what is in them.
json::object operation_json(const Operation& operation, const View& view);
json::object operation_item_json(const OperationItem& item);

// What every way to a replay may say: scope, to, rate, canary, halt, edit. `body` is the text that `fields` was read
// from: an edit keeps its numbers as they were written.
void read_replay_settings(Fields& fields, std::string_view body, OperationSettings& settings);

// Of so many that matched, those that are neither in the plan nor left out by it: more than one operation takes.
std::int64_t letters_left(std::int64_t matching, const Operation& plan);

// Why an operation could not be changed.
Response operation_refused(const ChangedOperation& changed, const std::string& id, OperationCause cause);

}  // namespace bartleby
