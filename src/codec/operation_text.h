// Settings and report of an operation as JSON, as the store keeps them, and back.
//
// What is read back was written here: a text that says something else is refused as kMalformed. Fields of a later
// version are skipped. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/operation_facts.h"

namespace bartleby {

std::string settings_text(const OperationSettings& settings);
Result<OperationSettings> settings_from_text(std::string_view text);

std::string report_text(const PlanReport& report);
Result<PlanReport> report_from_text(std::string_view text);

}  // namespace bartleby
