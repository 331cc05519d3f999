// The first page of a search in very many letters, against what one would do without an index: looking at every one.
#include <filesystem>
#include <string>

#include "adapters/sqlite/sqlite.h"
#include "adapters/store/sqlite/sqlite_store.h"
#include "bench/benches.h"
#include "bench/some_letters.h"
#include "office/letters.h"

namespace bartleby::bench {
namespace {

const std::string kFolder = "build/bench/search";

double page_ms(Store& store, const std::string& query, std::size_t& found) {
  return 1000 * seconds_of([&] {
           static_cast<void>(store.read([&](Connection& c) -> Result<void> {
             const auto page = letter_page(c, parse_query(query).value(), kNow, std::nullopt, 50);
             if (!page) return std::unexpected(page.error());
             found = page->letters.size();
             return {};
           }));
         });
}

}  // namespace

Row search() {
  const std::int64_t letters = letters_wanted(200000);
  Row row{.name = "search", .unit = "ms", .goal = "<= 50 ms (2 million)"};
  const std::string folder = keeps_letters() ? kFolder : fresh(kFolder);
  bool loaded = false;
  const double loading = seconds_of([&] { loaded = load_letters(folder, letters, true); });
  auto store = sqlite_store::SqliteStore::open({.folder = folder});
  auto db = sqlite::Database::open(folder + "/office.db", sqlite::Open::kReadOnly);
  if (!loaded || !store || !db) return row;
  const std::string one = std::to_string(letters / 2) + "s";  // a word of one letter alone
  std::array<double, kRepeats> mine{}, theirs{}, common{}, phrase{};
  std::size_t found = 0, many = 0, together = 0;
  for (std::size_t i = 0; i < kRepeats; ++i) {
    mine[i] = page_ms(**store, one, found);
    common[i] = page_ms(**store, "answer", many);
    phrase[i] = page_ms(**store, "text:\"tenant acme\" error:Error7 state:open", together);
    theirs[i] = 1000 * seconds_of([&] {
                  static_cast<void>(
                      db->number("SELECT count(*) FROM (SELECT seq FROM letters WHERE error_message LIKE"
                                 " '%" +
                                 one + "%' ORDER BY died_at DESC LIMIT 50)"));
                });
  }
  store->reset();
  if (!keeps_letters()) std::filesystem::remove_all(kFolder);
  const Figure figure = figure_of(mine), peer = figure_of(theirs);
  row.ours = figure.median;
  row.peer = peer.median;
  row.peer_name = "LIKE over all letters";
  row.ratio = peer.median > 0 ? figure.median / peer.median : 0;
  row.met = found == 1 && many == 50 && together == 50 && figure.median <= 50;
  row.spread = figure.spread;
  row.notes.push_back(
      text("%lld letters (BARTLEBY_BENCH_LETTERS), loaded in %.0f s with their words; a word that all have "
           "%.2f ms, a phrase within one issue %.2f ms",
           static_cast<long long>(letters), loading, figure_of(common).median, figure_of(phrase).median));
  return row;
}

}  // namespace bartleby::bench
