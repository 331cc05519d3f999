// `tail`: the messages of a topic, those of all its partitions in the order of their times.
//
// Reads in pages, a few per partition at a time, so a long topic does not have to fit into memory.
#include <algorithm>
#include <deque>
#include <ostream>
#include <tuple>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/message_text.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/time_text.h"

namespace bartleby::cli {
namespace {

constexpr std::int64_t kPage = 200;
constexpr std::int64_t kMostLast = 500;
constexpr Duration kPollEvery{500};

struct Reader {
  std::int64_t partition = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;   // reading stops here, unless it follows
  std::int64_t next = 0;  // to ask for
  std::deque<JsonValue> page = {};
  bool dry = false;
};

class Tail {
 public:
  Tail(Session& session, std::string topic) : session_(session), topic_(std::move(topic)) {}

  std::expected<void, Failure> find(std::optional<std::int64_t> only) {
    const auto topics = session_.get("/api/v1/topics");
    if (!topics) return std::unexpected(topics.error());
    std::vector<std::string> names;
    for (const JsonValue& topic : (*topics)["items"].items()) {
      names.push_back(topic.text("name"));
      if (names.back() != topic_) continue;
      for (const JsonValue& p : topic["partitions"].items())
        if (!only || *only == p.integer("partition"))
          readers_.push_back({p.integer("partition"), p.integer("start"), p.integer("end"), p.integer("start")});
      if (!readers_.empty()) return {};
      return refuse(exit_status::kNotFound, topic_ + " has no partition " + std::to_string(only.value_or(0)));
    }
    std::string text = "no topic " + shown(topic_);
    if (const auto near = nearest(topic_, names)) text += "; did you mean '" + *near + "'?";
    return refuse(exit_status::kNotFound, text);
  }

  void from_end() {
    for (Reader& reader : readers_) reader.next = reader.end;
  }

  // The last `count` of all partitions together: at most so many of each are read.
  void from_last(std::int64_t count) {
    for (Reader& reader : readers_) reader.next = std::max(reader.start, reader.end - count);
  }

  // The first message of each partition that is not older, by halving: times mostly grow with offsets.
  std::expected<void, Failure> from_time(Timestamp at) {
    for (Reader& reader : readers_) {
      std::int64_t low = reader.start;
      std::int64_t high = reader.end;
      while (low < high && !Interrupt::asked()) {
        const std::int64_t middle = low + (high - low) / 2;
        const auto page = read(reader.partition, middle, 1);
        if (!page) return std::unexpected(page.error());
        const auto& items = (*page)["items"].items();
        const auto time = items.empty() ? std::nullopt : time_from_text(items.front().text("timestamp"));
        if (!time || *time >= at)
          high = middle;
        else
          low = items.front().integer("offset") + 1;
      }
      reader.next = low;
    }
    return {};
  }

  // Oldest first, up to the ends; `most` below zero: all. True: there is more.
  std::expected<bool, Failure> show(std::int64_t most) {
    // A partition that had nothing is not asked again before the others are through.
    for (Reader& reader : readers_) reader.dry = false;
    for (std::int64_t shown_messages = 0;; ++shown_messages) {
      Reader* oldest = nullptr;
      for (Reader& reader : readers_) {
        if (reader.page.empty() && !reader.dry) {
          const auto filled = fill(reader);
          if (!filled) return std::unexpected(filled.error());
          reader.dry = reader.page.empty();
        }
        if (!reader.page.empty() &&
            (oldest == nullptr || reader.page.front().text("timestamp") < oldest->page.front().text("timestamp")))
          oldest = &reader;
      }
      if (oldest == nullptr || Interrupt::asked() || !session_.out().good()) return false;
      if (most >= 0 && shown_messages == most) return true;
      print(oldest->page.front());
      oldest->page.pop_front();
    }
  }

  // Reads what is there and prints the last `count` of it.
  std::expected<void, Failure> show_last(std::int64_t count) {
    std::vector<JsonValue> found;
    for (Reader& reader : readers_)
      for (;;) {
        const auto filled = fill(reader);
        if (!filled) return std::unexpected(filled.error());
        if (reader.page.empty()) break;
        std::ranges::move(reader.page, std::back_inserter(found));
        reader.page.clear();
      }
    std::ranges::sort(found, {}, [](const JsonValue& m) {
      return std::tuple(m.text("timestamp"), m.integer("partition"), m.integer("offset"));
    });
    const auto wanted = std::min(found.size(), static_cast<std::size_t>(count));
    for (std::size_t i = found.size() - wanted; i < found.size(); ++i) print(found[i]);
    return {};
  }

  // `left` below zero: until interrupted.
  std::expected<void, Failure> follow(Interrupt& interrupt, std::int64_t left) {
    following_ = true;
    bool away = false;
    while (!Interrupt::asked() && session_.out().good() && left != 0) {
      const std::int64_t before = printed_;
      const auto more = show(left);
      session_.out().flush();
      if (Interrupt::asked()) break;
      if (!more && more.error().status != exit_status::kUnreachable) return std::unexpected(more.error());
      if (!more && !away) session_.err() << "bartleby: " << more.error().text << "; waiting for it\n";
      away = !more;
      if (left > 0) left -= printed_ - before;
      interrupt.wait(kPollEvery);
    }
    return {};
  }

  std::int64_t printed() const { return printed_; }

 private:
  std::expected<JsonValue, Failure> read(std::int64_t partition, std::int64_t from, std::int64_t limit) {
    return session_.get("/api/v1/topics/" + encoded(topic_) + "/messages?partition=" + std::to_string(partition) +
                        "&from=" + std::to_string(from) + "&limit=" + std::to_string(limit));
  }

  std::expected<void, Failure> fill(Reader& reader) {
    if (!following_ && reader.next >= reader.end) return {};
    const auto page = read(reader.partition, reader.next, kPage);
    if (!page) return std::unexpected(page.error());
    for (const JsonValue& item : (*page)["items"].items()) {
      const std::int64_t offset = item.integer("offset", -1);
      if (offset < reader.next)
        return refuse(exit_status::kError, session_.client().server() + " gave messages that were not asked for");
      reader.next = offset + 1;
      if (following_ || offset < reader.end) reader.page.push_back(item);
    }
    // Nothing in the rest of the log: deleted, or markers of transactions.
    if ((*page)["items"].items().empty() && !following_) reader.next = reader.end;
    return {};
  }

  void print(const JsonValue& message) {
    ++printed_;
    const std::int64_t partition = message.integer("partition");
    const std::string place = std::to_string(partition) + ":" + std::to_string(message.integer("offset"));
    session_.show_one(message, place, [&] {
      return message_text(partition, record_of(message), {session_.now(), session_.colours()});
    });
  }

  Session& session_;
  const std::string topic_;
  std::vector<Reader> readers_;
  bool following_ = false;
  std::int64_t printed_ = 0;
};

Ran run_tail(const Arguments& arguments, const CliContext& context) {
  const std::string from = arguments.value("--from").value_or("");
  const auto count = arguments.number("--count", -1, 0, INT64_MAX);
  if (!count) return std::unexpected(count.error());
  const auto partition = arguments.number("--partition", -1, 0, INT32_MAX);
  if (!partition) return std::unexpected(partition.error());
  const auto moment = moment_from(from, context.now());
  if (!from.empty() && from != "start" && from != "end" && !moment)
    return refuse(
        exit_status::kUsage,
        "--from is start, end, a time (2025-01-15T10:30, UTC) or how long ago (10m), not '" + shown(from) + "'");
  if (from.empty() && *count > kMostLast)
    return refuse(exit_status::kUsage, "at most the last 500 are shown; with --from start there is no limit");
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());

  Interrupt interrupt;
  Tail tail(*session, arguments.operand(0));
  if (const auto found = tail.find(*partition < 0 ? std::nullopt : std::optional(*partition)); !found)
    return std::unexpected(found.error());
  std::expected<void, Failure> done;
  bool more = false;
  if (from == "end") {
    tail.from_end();
  } else if (from.empty()) {
    const std::int64_t last = *count < 0 ? 10 : *count;
    tail.from_last(last);
    done = tail.show_last(last);
  } else {
    if (moment) done = tail.from_time(*moment);
    if (done) {
      const auto shown_some = tail.show(*count);
      if (!shown_some) done = std::unexpected(shown_some.error());
      more = shown_some.value_or(false);
    }
  }
  if (done && !more && (arguments.has("--follow") || from == "end")) {
    const std::int64_t left = *count < 0 || from.empty() ? -1 : *count - tail.printed();
    done = tail.follow(interrupt, left);
  }
  if (!done && !Interrupt::asked()) return std::unexpected(done.error());
  return exit_status::kOk;
}

}  // namespace

std::vector<Command> tail_commands() {
  return {{.name = "tail",
           .summary = "show messages of a topic; dead letters with their story",
           .operands = {{"TOPIC"}},
           .options = with_server_options(
               {{"--follow", 'f', "", "go on with what comes, until interrupted"},
                {"--from", 0, "WHERE", "start, end (follows), a time, or how long ago: 10m"},
                {"--count", 'n', "N", "so many; without --from the last N of all partitions, else 10"},
                {"--partition", 'p', "P", "only this one"}}),
           .details = "Without --from: the last 10 messages. With it: everything from there on, or the first N.",
           .examples = {"bartleby tail orders.dlq", "bartleby tail orders -f",
                        "bartleby tail orders --from 2025-01-15T10:30 -n 100 -o jsonl"},
           .run = run_tail}};
}

}  // namespace bartleby::cli
