#include "codec/operation_text.h"

#include <simdjson.h>

#include "codec/json_text.h"

namespace bartleby {
namespace {

namespace dom = simdjson::dom;

std::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::kMalformed, "the store's text of an operation is damaged: " + std::string(what));
}

std::string text_at(const dom::object& from, std::string_view field) {
  std::string_view text;
  return from.at_key(field).get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

std::int64_t number_at(const dom::object& from, std::string_view field) {
  std::int64_t value = 0;
  return from.at_key(field).get(value) == simdjson::SUCCESS ? value : 0;
}

std::uint32_t small_at(const dom::object& from, std::string_view field) {
  const std::int64_t value = number_at(from, field);
  return std::in_range<std::uint32_t>(value) ? static_cast<std::uint32_t>(value) : 0;
}

template <class Take>
void each(const dom::object& from, std::string_view field, Take&& take) {
  dom::array items;
  if (from.at_key(field).get(items) != simdjson::SUCCESS) return;
  for (const dom::element item : items) take(item);
}

template <class Items, class Put>
void put_list(std::string& out, JsonObject& object, std::string_view field, const Items& items, Put&& put) {
  object.name(field);
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!std::exchange(first, false)) out += ',';
    put(item);
  }
  out += ']';
}

}  // namespace

std::string settings_text(const OperationSettings& s) {
  std::string out;
  {
    JsonObject object(out);
    if (s.scope) object.text("scope", name(*s.scope));
    if (!s.to.empty()) object.text("to", s.to);
    object.number("rate", s.rate);
    object.number("canary", s.canary);
    object.number("halt_percent", s.halt.percent);
    object.number("halt_of", s.halt.of);
    object.number("undo_ms", s.undo.count());
    if (!s.edit.empty()) object.text("edit", s.edit);
    object.text("selection", s.selection);
    object.number("known_before", s.known_before);
    object.number("came_back_before", s.came_back_before);
    object.number("waiting_before", s.waiting_before);
    if (!s.started_by.empty()) object.text("started_by", s.started_by);
    if (!s.started_reason.empty()) object.text("started_reason", s.started_reason);
    if (!s.started_request.empty()) object.text("started_request", s.started_request);
  }
  return out;
}

Result<OperationSettings> settings_from_text(std::string_view text) {
  dom::parser parser;
  dom::object from;
  if (parser.parse(text.data(), text.size()).get(from) != simdjson::SUCCESS) return damaged("settings");
  OperationSettings s;
  if (const std::string scope = text_at(from, "scope"); !scope.empty())
    s.scope = scope == name(ReplayScope::kTopic) ? ReplayScope::kTopic : ReplayScope::kGroup;
  s.to = text_at(from, "to");
  s.rate = small_at(from, "rate");
  s.canary = small_at(from, "canary");
  s.halt = {small_at(from, "halt_percent"), small_at(from, "halt_of")};
  s.undo = Duration(number_at(from, "undo_ms"));
  s.edit = text_at(from, "edit");
  s.selection = text_at(from, "selection");
  s.known_before = number_at(from, "known_before");
  s.came_back_before = number_at(from, "came_back_before");
  s.waiting_before = number_at(from, "waiting_before");
  s.started_by = text_at(from, "started_by");
  s.started_reason = text_at(from, "started_reason");
  s.started_request = text_at(from, "started_request");
  return s;
}

std::string report_text(const PlanReport& r) {
  std::string out;
  {
    JsonObject object(out);
    put_list(out, object, "excluded", r.excluded, [&](const Excluded& one) {
      JsonObject item(out);
      item.text("why", one.why);
      item.number("count", one.letters);
    });
    put_list(out, object, "to", r.to, [&](const PlanTarget& one) {
      JsonObject item(out);
      item.text("topic", one.topic);
      item.text("group", one.group);
      item.number("letters", one.letters);
    });
    put_list(out, object, "also_read_by", r.also_read_by, [&](const std::string& one) { append_json_text(out, one); });
    put_list(out, object, "spared", r.spared, [&](const std::string& one) { append_json_text(out, one); });
    object.number("order_conflicts", r.order_conflicts);
    object.number("bytes", r.bytes);
    object.number("seconds", r.seconds);
    put_list(out, object, "warnings", r.warnings, [&](const std::string& one) { append_json_text(out, one); });
    put_list(out, object, "previews", r.previews, [&](const EditPreview& one) {
      JsonObject item(out);
      item.text("letter", one.letter);
      item.text("before", one.before);
      item.text("after", one.after);
    });
  }
  return out;
}

Result<PlanReport> report_from_text(std::string_view text) {
  dom::parser parser;
  dom::object from;
  if (parser.parse(text.data(), text.size()).get(from) != simdjson::SUCCESS) return damaged("report");
  PlanReport r;
  const auto words = [](dom::element item, std::vector<std::string>& to) {
    std::string_view word;
    if (item.get(word) == simdjson::SUCCESS) to.emplace_back(word);
  };
  each(from, "excluded", [&](dom::element item) {
    dom::object one;
    if (item.get(one) == simdjson::SUCCESS) r.excluded.push_back({text_at(one, "why"), number_at(one, "count")});
  });
  each(from, "to", [&](dom::element item) {
    dom::object one;
    if (item.get(one) == simdjson::SUCCESS)
      r.to.push_back({text_at(one, "topic"), text_at(one, "group"), number_at(one, "letters")});
  });
  each(from, "also_read_by", [&](dom::element item) { words(item, r.also_read_by); });
  each(from, "spared", [&](dom::element item) { words(item, r.spared); });
  r.order_conflicts = number_at(from, "order_conflicts");
  r.bytes = number_at(from, "bytes");
  r.seconds = number_at(from, "seconds");
  each(from, "warnings", [&](dom::element item) { words(item, r.warnings); });
  each(from, "previews", [&](dom::element item) {
    dom::object one;
    if (item.get(one) == simdjson::SUCCESS)
      r.previews.push_back({text_at(one, "letter"), text_at(one, "before"), text_at(one, "after")});
  });
  return r;
}

}  // namespace bartleby
