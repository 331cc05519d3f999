#include "server/operation_json.h"

#include <algorithm>

#include "codec/json_patch.h"
#include "codec/query.h"
#include "office/operation_row.h"

namespace bartleby {
namespace {

json::array words(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& word : list) out.push_back(json::string(word));
  return out;
}

void put_report(json::object& out, const PlanReport& report, const View& view) {
  json::array excluded, to, previews;
  for (const Excluded& one : report.excluded)
    excluded.push_back(json::object{{"why", one.why}, {"count", one.letters}});
  for (const PlanTarget& one : report.to)
    to.push_back(json::object{{"topic", one.topic}, {"group", one.group}, {"letters", one.letters}});
  for (const EditPreview& one : report.previews)
    previews.push_back(json::object{{"letter", one.letter}, {"before", one.before}, {"after", one.after}});
  out["excluded"] = std::move(excluded);
  out["to"] = std::move(to);
  out["also_read_by"] = words(report.also_read_by);
  out["spared"] = words(report.spared);
  out["order_conflicts"] = report.order_conflicts;
  out["bytes"] = report.bytes;
  out["seconds"] = report.seconds;
  out["warnings"] = words(report.warnings);
  if (!previews.empty() && view.payload) out["previews"] = std::move(previews);
}

}  // namespace

json::object operation_json(const Operation& o, const View& view) {
  json::object out{{"id", o.id}, {"kind", name(o.kind)}, {"state", name(o.state)}, {"version", o.version}};
  out["dlqs"] = words(o.dlqs);
  const auto query = parse_query(o.settings.selection);
  const bool looks = query && looks_into_messages(*query);
  out["selection"] = looks && !view.payload ? std::string(kHidden) : o.settings.selection;
  out["letters"] = o.letters;
  out["dealt_with"] = o.cursor;
  json::object results;
  for (std::size_t r = 0; r < kItemResults; ++r) results[kItemResultNames[r]] = o.results[r];
  out["results"] = std::move(results);
  put_report(out, o.report, view);
  if (o.kind == OperationKind::kReplay) {
    out["rate"] = o.settings.rate;
    out["canary"] = o.settings.canary;
    out["halt"] = json::object{{"came_back", o.settings.halt.percent}, {"of", o.settings.halt.of}};
    if (o.settings.scope) out["scope"] = name(*o.settings.scope);
    if (!o.settings.edit.empty() && view.payload) {
      json::error_code failed;
      json::value edit = json::parse(o.settings.edit, failed);
      out["edit"] = failed ? json::value(o.settings.edit) : std::move(edit);
    }
  }
  out["actor"] = o.actor;
  if (!o.settings.started_by.empty()) out["started_by"] = o.settings.started_by;
  out["reason"] = o.reason;
  out["note"] = o.note;
  out["created_at"] = json_time(o.created_at);
  out["started_at"] = json_time(o.started_at);
  out["ended_at"] = json_time(o.ended_at);
  return out;
}

json::object operation_item_json(const OperationItem& item) {
  json::object out{{"position", item.position}, {"result", name(item.result)}, {"replays", item.replays}};
  out["letter"] = item.letter_id.empty() ? json::value(nullptr) : json::value(item.letter_id);
  out["note"] = item.note;
  out["to"] = item.to
                  ? json::value(json::object{
                        {"topic", item.to_topic}, {"partition", item.to->partition.v}, {"offset", item.to->offset.v}})
                  : json::value(nullptr);
  out["changed_at"] = json_time(item.changed_at);
  return out;
}

void read_replay_settings(Fields& fields, std::string_view body, OperationSettings& settings) {
  constexpr std::int64_t kMost = 1000000;
  if (const auto scope = fields.text("scope", 20)) {
    if (*scope != name(ReplayScope::kGroup) && *scope != name(ReplayScope::kTopic))
      fields.wrong("scope", "must be group or topic");
    else
      settings.scope = *scope == name(ReplayScope::kTopic) ? ReplayScope::kTopic : ReplayScope::kGroup;
  }
  if (auto to = fields.text("to", 249)) settings.to = std::move(*to);
  if (const auto rate = fields.integer("rate", 0, kMost)) settings.rate = static_cast<std::uint32_t>(*rate);
  if (const auto canary = fields.integer("canary", 0, kMost)) settings.canary = static_cast<std::uint32_t>(*canary);
  if (const json::value* halt = fields.value("halt")) {
    if (!halt->is_object()) return fields.wrong("halt", "must be an object with came_back and of");
    Fields inner(halt->as_object(), "/halt");
    if (const auto percent = inner.integer("came_back", 0, 100))
      settings.halt.percent = static_cast<std::uint32_t>(*percent);
    if (const auto of = inner.integer("of", 1, kMost)) settings.halt.of = static_cast<std::uint32_t>(*of);
    if (inner.mistakes()) fields.wrong("halt", "came_back is a percentage from 0 to 100, of a number from 1 on");
  }
  if (fields.value("edit") == nullptr) return;
  auto edit = json_member(body, "edit");
  const auto patch = edit ? JsonPatch::parse(*edit) : Result<JsonPatch>(std::unexpected(edit.error()));
  if (!patch) return fields.wrong("edit", patch.error().message);
  settings.edit = std::move(*edit);
}

std::int64_t letters_left(std::int64_t matching, const Operation& plan) {
  std::int64_t left = matching - plan.letters;
  for (const Excluded& excluded : plan.report.excluded) left -= excluded.letters;
  return std::max<std::int64_t>(left, 0);
}

Response operation_refused(const ChangedOperation& changed, const std::string& id, OperationCause cause) {
  switch (changed.result) {
    case OperationChange::kConflict:
      return problem(ProblemType::kConflict, sends_already(changed.conflict));
    case OperationChange::kWrongState: {
      const std::string state(name(changed.operation.state));
      return with_member(problem(ProblemType::kWrongState, "operation " + changed.operation.id + " is " + state + ": " +
                                                               std::string(name(cause)) + " does not apply"),
                         "state", json::string(state));
    }
    default:
      return problem(ProblemType::kNotFound, "no operation " + id.substr(0, 100));
  }
}

}  // namespace bartleby
