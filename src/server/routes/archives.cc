// Archives of letters: the list, and bringing one back.
#include "office/archives.h"

#include "server/office_json.h"
#include "server/paging.h"
#include "server/routes/routes.h"

namespace bartleby {
namespace {

constexpr std::string_view kList = "archives";

constexpr std::string_view kArchive = R"({"$ref": "#/components/schemas/Archive"})";
constexpr std::string_view kArchives = BARTLEBY_PAGE_OF(R"({"$ref": "#/components/schemas/Archive"})");
constexpr std::string_view kRestore = R"({"type": "object", "properties": {"reason": {"type": "string"}}})";
constexpr std::string_view kRestored = R"({"type": "object", "additionalProperties": false,
  "required": ["id", "restored", "left_alone"], "properties": {"id": {"type": "string"},
    "restored": {"type": "integer", "description": "letters that are open again"},
    "left_alone": {"type": "integer", "description": "letters that are not archived in it any more"}}})";

json::object archive_json(const ArchiveEntry& entry) {
  json::object out{{"id", entry.id}, {"dlq", entry.dlq}, {"sha256", entry.sha256}};
  out["letters"] = entry.letters;
  out["here"] = entry.here;
  out["bytes"] = entry.bytes;
  out["first"] = json_time(entry.first);
  out["last"] = json_time(entry.last);
  out["created_at"] = json_time(entry.created_at);
  return out;
}

Response archive_problem(const Error& error) {
  return error.code == ErrorCode::kUnavailable ? store_problem(error) : problem(error);
}

Response list(const Services& services, const Request& request) {
  const auto paging = read_paging(request, kList);
  if (!paging) return paging.error();
  std::vector<ArchiveEntry> found;
  std::int64_t count = 0;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto entries = list_archives(connection, paging->after.value_or(""), paging->limit + 1);
    if (!entries) return std::unexpected(entries.error());
    found = std::move(*entries);
    const auto all = count_archives(connection);
    if (!all) return std::unexpected(all.error());
    count = *all;
    return {};
  });
  if (!read) return read.error().code == ErrorCode::kNotFound ? bad_cursor() : archive_problem(read.error());
  std::optional<std::string> next;
  if (found.size() > paging->limit) {
    found.resize(paging->limit);
    next = found.back().id;
  }
  json::array items;
  for (const ArchiveEntry& entry : found) items.push_back(archive_json(entry));
  return page_response(std::move(items), kList, next, count, true);
}

Response show(const Services& services, const Request& request) {
  ArchiveEntry entry;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto found = archive_entry(connection, request.parameter("id"));
    if (!found) return std::unexpected(found.error());
    entry = std::move(*found);
    return {};
  });
  return read ? json_response(archive_json(entry)) : archive_problem(read.error());
}

Response restore(const Services& services, const Request& request) {
  const auto body = request.body.empty() ? std::expected<json::object, Response>() : read_object(request);
  if (!body) return body.error();
  Fields fields(*body);
  const std::string reason = fields.text("reason", kLongestReason).value_or("");
  if (auto refused = fields.mistakes()) return *refused;
  const std::string& id = request.parameter("id");
  const auto done =
      restore_archive(*services.store, *services.archive, id, actor_of(request, reason), services.clock->now().wall);
  if (!done) return archive_problem(done.error());
  return json_response(json::object{{"id", id}, {"restored", done->restored}, {"left_alone", done->left_alone}});
}

}  // namespace

void add_archive_routes(Router& router, const Services& services) {
  router.add("GET", "/api/v1/archives",
             {.access = Scope::kRead,
              .summary = "Archives of letters, the newest first",
              .query = {{"limit", "integer", "up to 500; 50"}, {"cursor", "string", "`next` of the page before"}},
              .answer = kArchives},
             [&services](Request& request) { return list(services, request); });
  router.add("GET", "/api/v1/archives/{id}", {.access = Scope::kRead, .summary = "One of them", .answer = kArchive},
             [&services](Request& request) { return show(services, request); });
  router.add("POST", "/api/v1/archives/{id}:restore",
             {.access = Scope::kDiscard,
              .summary = "Its letters are open again, with their bytes",
              .body = kRestore,
              .answer = kRestored},
             [&services](Request& request) { return restore(services, request); });
}

}  // namespace bartleby
