// `explain`: why a worker stands where it stands: what holds the commit, until when, and what to do.
#include <algorithm>

#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/time_text.h"

namespace bartleby::cli {
namespace {

constexpr int kMostParked = 500;

// Everything that is known about a worker at one moment.
struct Known {
  std::string worker;
  JsonValue explanation, status, parked;
};

const JsonValue* parked_at(const Known& known, const std::string& topic, std::int64_t partition, std::int64_t offset) {
  for (const JsonValue& m : known.parked["items"].items())
    if (m.integer("partition") == partition && m.integer("offset") == offset && m.text("topic") == topic) return &m;
  return nullptr;
}

const JsonValue* partition_status(const Known& known, const std::string& topic, std::int64_t partition) {
  for (const JsonValue& p : known.status["partitions"].items())
    if (p.integer("partition") == partition && p.text("topic") == topic) return &p;
  return nullptr;
}

std::string due_text(const JsonValue& pin, Timestamp now) {
  const auto due = time_from_text(pin.text("due"));
  if (!due) return "";
  return ", next " + clock_text(*due) + " (" + (*due <= now ? "now" : ago_text(*due, now)) + ")";
}

std::string pin_text(const Known& known, const JsonValue& partition, const JsonValue& pin, Timestamp now) {
  std::string out;
  if (const auto key = pin["key"].if_bytes()) out += "key " + cut(shown(*key), 60) + ", ";
  const std::string state = pin.text("state");
  const std::int64_t attempt = pin.integer("attempt");
  if (state == "parked") {
    const JsonValue* message =
        parked_at(known, partition.text("topic"), partition.integer("partition"), pin.integer("offset"));
    out += "attempt " + std::to_string(attempt);
    if (message != nullptr) out += " of " + std::to_string(message->integer("max_attempts"));
    out += due_text(pin, now);
  } else {
    const bool comes = !state.starts_with("dying") && !state.starts_with("kept");  // an attempt, still
    const std::int64_t failed = attempt - (comes ? 1 : 0);
    out += shown(state) + (failed > 0 ? " after " + counted(failed, "failed attempt") : "");
  }
  out += "\n";
  const JsonValue& error = pin["error"];
  std::string line = error.text("type");
  if (!error.text("message").empty()) line += (line.empty() ? "" : ": ") + error.text("message");
  if (!line.empty()) out += "  " + cut(shown(line), 200) + "\n";
  return out;
}

// What a person can do about the first thing that holds the commit.
std::string advice(const Known& known, const JsonValue& partition, const JsonValue& pin) {
  const std::string place =
      std::to_string(partition.integer("partition")) + ":" + std::to_string(pin.integer("offset"));
  const std::string worker = shown(known.worker);
  const std::string state = pin.text("state");
  if (known.status.text("state") == "paused")
    return "The worker is paused. To go on: bartleby workers resume " + worker;
  if (const std::string trouble = known.status.text("trouble"); !trouble.empty()) return "The worker " + shown(trouble);
  if (known.status.truth("guard_open"))
    return "The outage guard is open: mend what all handlers fail at; it closes by itself when a probe succeeds.";
  if (state == "parked") return "Nothing is wrong. To try now: bartleby parked run-now " + worker + " " + place;
  if (state.starts_with("kept"))
    return "It waits for a person: bartleby parked run-now " + worker + " " + place + ", or give-up";
  if (state.starts_with("dying; its dlq")) return "Its letter cannot be written: look at the dead letter topic.";
  if (state.ends_with("its journal does not take that down"))
    return "Its journal cannot be written: look at the topic with .parked. in its name. It is tried again by itself.";
  if (state.starts_with("ready; all handlers are busy"))
    return "Nothing is wrong, but the handlers are slow or few: more of them with workers.*.concurrency.";
  if (state == "running") return "Nothing is wrong: its handler runs.";
  return "Nothing to do: it goes on by itself.";
}

std::string partition_text(const Known& known, const JsonValue& p, const Session& session, bool one_message) {
  const std::int64_t number = p.integer("partition");
  const JsonValue* status = partition_status(known, p.text("topic"), number);
  std::string head = shown(known.worker) + "  ";
  if (known.status["topics"].items().size() > 1) head += shown(p.text("topic")) + "  ";
  head += "partition " + std::to_string(number) + "  committed " + std::to_string(p.integer("committed")) +
          "  frontier " + std::to_string(p.integer("frontier")) + "  running " +
          std::to_string(known.status.integer("running"));
  if (status != nullptr)
    head += "  parked " + grouped(status->integer("parked")) + "  held " + grouped(status->integer("held"));
  std::string out = painted(head, Colour::kBold, session.colours()) + "\n";
  const auto& pins = p["pinned_by"].items();
  if (one_message || pins.empty()) {
    out += shown(p.text("answer")) + "\n";
    if (one_message && !pins.empty()) {
      out += std::to_string(pins.front().integer("offset")) + ": " + pin_text(known, p, pins.front(), session.now());
      out += advice(known, p, pins.front()) + "\n";
    }
    return out;
  }
  const JsonValue& first = pins.front();
  out += std::to_string(first.integer("offset")) + " holds the commit: " + pin_text(known, p, first, session.now());
  const std::int64_t after = p.integer("frontier") - first.integer("offset") - 1;
  if (after > 0) {
    out += grouped(after) + (after == 1 ? " offset after it is read" : " offsets after it are read");
    if (p.integer("high") > first.integer("offset"))
      out += "; after a restart, only unfinished keys are read again below " + std::to_string(p.integer("high"));
    out += ".\n";
  }
  if (pins.size() > 1) {
    out += "Also open:";
    for (std::size_t i = 1; i < pins.size(); ++i)
      out +=
          (i == 1 ? " " : ", ") + std::to_string(pins[i].integer("offset")) + " (" + shown(pins[i].text("state")) + ")";
    out += "\n";
  }
  // What stops the intake stands behind the first sentence of the server's answer; of a pause the advice tells.
  const std::string answer = p.text("answer");
  const std::size_t more = answer.find(". ");
  if (more != std::string::npos && known.status.text("state") != "paused")
    out += shown(answer.substr(more + 2)) + ".\n";
  return out + advice(known, p, first) + "\n";
}

std::string explain_text(const Known& known, const Session& session, bool one_message) {
  const auto& partitions = known.explanation["partitions"].items();
  std::string out;
  if (partitions.empty()) out = shown(known.explanation.text("answer")) + "\n";
  for (const JsonValue& p : partitions) {
    if (!out.empty()) out += "\n";
    out += partition_text(known, p, session, one_message);
  }
  if (known.explanation.text("source") == "commit-metadata")
    out += "The instance could not be reached: this is what its last commit says.\n";
  return out;
}

std::expected<Known, Failure> ask(Session& session, const std::string& worker, const std::optional<Place>& place,
                                  const std::optional<std::string>& key, std::optional<std::int64_t> partition) {
  Known known{.worker = worker, .explanation = {}, .status = {}, .parked = {}};
  const std::string path = "/api/v1/workers/" + encoded(worker);
  auto status = session.get(path);
  if (!status) return std::unexpected(status.error());
  known.status = std::move(*status);
  auto parked = session.get(path + "/parked?limit=" + std::to_string(kMostParked));
  if (!parked) return std::unexpected(parked.error());
  known.parked = std::move(*parked);
  std::string question = "/api/v1/explain?worker=" + encoded(worker);
  if (place) partition = place->partition;
  if (partition) question += "&partition=" + std::to_string(*partition);
  if (place) question += "&offset=" + std::to_string(place->offset);
  if (key) question += "&key=" + encoded(*key);
  auto explanation = session.get(question);
  if (!explanation) return std::unexpected(explanation.error());
  known.explanation = std::move(*explanation);
  return known;
}

Ran run_explain(const Arguments& arguments, const CliContext& context) {
  const auto key = arguments.value("--key");
  std::optional<Place> place;
  std::optional<std::int64_t> partition;
  if (const auto text = arguments.operand_if(1)) {
    place = place_of(*text);
    partition = place ? std::nullopt : integer_of(*text);
    if (!place && (!partition || *partition < 0 || *partition > INT32_MAX))
      return refuse(exit_status::kUsage, "a message is named PARTITION:OFFSET, like 3:12345, not '" + *text + "'");
    if (key) return refuse(exit_status::kUsage, "say P:OFFSET or --key, not both");
  }
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto known = ask(*session, arguments.operand(0), place, key, partition);
    if (!known) return std::unexpected(known.error());
    session->show_one(known->explanation, known->worker, [&] { return explain_text(*known, *session, place || key); });
    return exit_status::kOk;
  });
}

}  // namespace

std::vector<Command> explain_commands() {
  return {
      {.name = "explain",
       .summary = "why a worker, a partition, a message or a key does not go on, and what to do",
       .operands = {{"WORKER"}, {"P:OFFSET", false}},
       .options = with_server_options({{"--key", 'k', "KEY", "what holds the messages of this key"}, watch_option()}),
       .details = "P alone is a partition, P:OFFSET one message of it.",
       .examples = {"bartleby explain orders", "bartleby explain orders 3:12345",
                    "bartleby explain orders --key customer-7"},
       .run = run_explain}};
}

}  // namespace bartleby::cli
