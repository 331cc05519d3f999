// What `/dlq-status` and first pages cost with very many letters, against a GROUP BY on the same letters.
#include <filesystem>
#include <string>

#include "adapters/sqlite/sqlite.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "bench/benches.h"
#include "bench/some_letters.h"
#include "office/issues.h"
#include "office/letters.h"

namespace bartleby::bench {
namespace {

const std::string kStatusFolder = "build/bench/dlq_status";

}  // namespace

Row dlq_status() {
  const std::int64_t letters = letters_wanted(200000);
  Row row{.name = "dlq_status", .unit = "1/s", .goal = ">= 10000 x (23 million)"};
  const std::string folder = keeps_letters() ? kStatusFolder : fresh(kStatusFolder);
  bool loaded = false;
  const double loading = seconds_of([&] { loaded = load_letters(folder, letters, false); });
  if (!loaded) return row;
  const auto bytes = static_cast<double>(std::filesystem::file_size(folder + "/office.db"));
  auto store = sqlite_store::SqliteStore::open({.folder = folder});
  if (!store) return row;
  std::array<double, kRepeats> mine{}, theirs{};
  double page = 0, issues = 0;
  for (std::size_t i = 0; i < kRepeats; ++i) {
    constexpr int kTimes = 200;
    mine[i] = kTimes / seconds_of([&] {
                for (int n = 0; n < kTimes; ++n)
                  static_cast<void>((*store)->read([](Connection& c) -> Result<void> {
                    const auto status = bartleby::dlq_status(c);
                    return status ? Result<void>() : std::unexpected(status.error());
                  }));
              });
    auto db = sqlite::Database::open(folder + "/office.db", sqlite::Open::kReadOnly);
    theirs[i] = 1 / seconds_of([&] {
                  static_cast<void>(
                      db->number("SELECT sum(n) FROM (SELECT consumerId, COUNT(id) AS n FROM job"
                                 " WHERE status = 1004 GROUP BY consumerId)"));
                });
    page = seconds_of([&] {
      static_cast<void>((*store)->read([](Connection& c) -> Result<void> {
        const auto first = letter_page(c, parse_query("state:open topic:c7").value(), kNow, std::nullopt, 50);
        return first ? Result<void>() : std::unexpected(first.error());
      }));
    });
    issues = seconds_of([&] {
      static_cast<void>((*store)->read([](Connection& c) -> Result<void> {
        const auto first = issue_page(c, {}, std::nullopt, 50);
        return first ? Result<void>() : std::unexpected(first.error());
      }));
    });
  }
  store->reset();
  if (!keeps_letters()) std::filesystem::remove_all(kStatusFolder);
  const Figure figure = figure_of(mine), peer = figure_of(theirs);
  row.ours = figure.median;
  row.peer = peer.median;
  row.peer_name = "a GROUP BY on the view job";
  row.ratio = peer.median > 0 ? figure.median / peer.median : 0;
  row.met = row.ratio >= 10000;
  row.spread = figure.spread;
  row.notes.push_back(text(
      "%lld letters (BARTLEBY_BENCH_LETTERS), loaded in %.0f s, %.1f GB; first page of one consumer %.2f ms, of issues "
      "%.2f ms",
      static_cast<long long>(letters), loading, bytes / 1e9, page * 1000, issues * 1000));
  return row;
}

}  // namespace bartleby::bench
