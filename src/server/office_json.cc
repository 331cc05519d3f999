#include "server/office_json.h"

#include "codec/time_text.h"
#include "codec/utf8.h"
#include "office/issues.h"
#include "server/router.h"

namespace bartleby {
namespace {

constexpr std::size_t kPreview = 200;  // bytes

json::array list_of(const std::set<std::string>& words) {
  json::array list;
  for (const std::string& word : words) list.push_back(json::string(word));
  return list;
}

}  // namespace

Result<std::string> IssueNames::of(Connection& connection, std::int64_t number) {
  const auto known = known_.find(number);
  if (known != known_.end()) return known->second;
  const auto issue = issue_by_number(connection, number);
  if (!issue) return std::unexpected(issue.error());
  return known_[number] = *issue ? (*issue)->id : "";
}

View view_of(const Services& services, const Request& request) {
  return {
      .payload = request.caller.may(Scope::kPayload), .redaction = &services.redaction, .rule_of = services.rule_of};
}

json::object letter_json(const StoredLetter& l, const std::string& issue, const View& view) {
  json::object origin{{"cluster", l.shelf.cluster}, {"topic", l.shelf.topic}};
  // Of the first life, as the topic is: a later one may have lain in a private lane.
  origin["partition"] = l.origin ? json::value(l.job.partition.v) : json::value(nullptr);
  origin["offset"] = l.origin ? json::value(l.job.offset.v) : json::value(nullptr);
  origin["timestamp"] = json_time(l.timestamp);
  if (view.payload) origin["key"] = l.key ? json_bytes(Bytes(std::string_view(*l.key))) : json::value(nullptr);
  origin["size"] = l.size;
  json::object out{{"id", l.id}, {"state", name(l.state)}, {"version", l.version}};
  out["dlq"] = json::object{{"topic", l.shelf.dlq}, {"partition", l.dlq.partition.v}, {"offset", l.dlq.offset.v}};
  out["origin"] = std::move(origin);
  out["worker"] = l.shelf.worker;
  out["instance"] = l.instance;
  out["group"] = l.shelf.group;
  out["reason"] = name(l.shelf.reason);
  out["error"] = json::object{{"kind", name(l.kind)}, {"type", l.error_type}, {"message", l.error_message}};
  out["attempts"] = l.attempts;
  out["replays"] = l.replays;
  out["lineage"] = l.lineage;
  out["issue"] = issue;
  out["first_failure_at"] = json_time(l.first_failure_at);
  out["last_failure_at"] = json_time(l.died_at);
  out["arrived_at"] = json_time(l.arrived_at);
  if (l.undo_until) out["undo_until"] = json_time(l.undo_until);
  out["expires_at"] = json_time(expires_at(l, view.rule_of(l.shelf.dlq)));
  out["dialect"] = l.dialect;
  return out;
}

Result<json::array> letters_json(Connection& connection, const std::vector<StoredLetter>& letters, const View& view) {
  json::array items;
  IssueNames issues;
  for (const StoredLetter& letter : letters) {
    const auto issue = issues.of(connection, letter.issue);
    if (!issue) return std::unexpected(issue.error());
    items.push_back(letter_json(letter, *issue, view));
  }
  return items;
}

json::value preview_json(const Bytes& value) {
  if (!value || value->size() <= kPreview) return json_bytes(value);
  if (is_utf8(*value)) return json::string(clean_utf8(*value, {.bytes = kPreview}));
  return json_bytes(Bytes(std::string_view(*value).substr(0, kPreview)));
}

json::object issue_json(const Issue& issue, const std::array<std::int64_t, 24>& trend, const IssuePlaces& places) {
  json::object out{{"id", issue.id}, {"state", name(issue.state)}, {"version", issue.version}};
  out["title"] = issue.title;
  out["kind"] = name(issue.kind);
  out["count"] = json::object{{"open", issue.open}, {"total", issue.total}};
  out["first"] = json_time(issue.first);
  out["last"] = json_time(issue.last);
  out["trend"] = json::array(trend.begin(), trend.end());
  out["workers"] = list_of(places.workers);
  out["dlqs"] = list_of(places.dlqs);
  if (issue.until) out["until"] = json_time(issue.until);
  if (!issue.note.empty()) out["note"] = issue.note;
  return out;
}

json::object shared_json(const SharedFacts& shared, const View& view) {
  json::array facts;
  for (const SharedFact& fact : shared.facts)
    if (!fact.of_payload || (view.payload && !view.redaction->hides(fact.name)))
      facts.push_back(json::object{{"name", fact.name}, {"value", fact.value}, {"letters", fact.letters}});
  return json::object{{"letters", shared.looked_at}, {"facts", std::move(facts)}};
}

json::object audit_json(const AuditEntry& entry, const View& view) {
  json::object out{{"line", entry.seq}, {"at", time_text(entry.at)}, {"actor", entry.actor}};
  out["action"] = entry.action;
  out["subject"] = entry.subject;
  out["from"] = entry.from;
  out["to"] = entry.to;
  out["reason"] = entry.reason;
  out["request_id"] = entry.request_id;
  json::error_code failed;
  if (!entry.detail.empty()) {
    json::value detail = json::parse(entry.detail, failed);
    if (!view.payload && detail.is_object()) detail.as_object().erase("edit");
    out["detail"] = failed ? json::value(entry.detail) : std::move(detail);
  }
  return out;
}

Actor actor_of(const Request& request, std::string reason) {
  if (const auto said = request.query_value(kWhy.name); said && !said->empty()) reason = *said;
  return {.name = request.caller.name, .reason = std::move(reason), .request_id = request.request_id};
}

}  // namespace bartleby
