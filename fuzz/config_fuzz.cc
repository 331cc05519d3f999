// Configuration: no file and no variable crashes the reader; what it takes, it can show, and reads again as the same.
#include <array>

#include "codec/utf8.h"
#include "fuzz_input.h"
#include "wiring/config.h"
#include "wiring/config_keys.h"
#include "wiring/config_text.h"

namespace bartleby::fuzz {
namespace {

constexpr std::array<std::string_view, 45> kWords{
    "{",    "}",   "[",     "]",    ": ",    ", ",      "\n",         "\n  ",   "\n    ",   "- ",   "\"",    "'",
    "&a ",  "*a",  "<<",    "${V}", "${V:-", "${file:", "}",          "$${",    "null",     "true", "5",     "-1",
    "1s",   "50%", "2MB",   "/a",   "w",     "{topic",  "http://a/b", "#",      "!!str ",   "? ",   "---\n", "|\n",
    ">-\n", "\t",  "99999", "0",    "[1s]",  "[a, b]",  "{}",         "record", "earliest",
};

// Text out of the words that files are made of.
std::string text_of_words(FuzzedDataProvider& in) {
  std::string out;
  const auto keys = config_keys();
  while (in.remaining_bytes() > 0 && out.size() < 4000) {
    const auto pick = in.ConsumeIntegral<std::uint8_t>();
    if (pick < kWords.size()) {
      out += kWords[pick];
    } else {
      const std::string_view path = keys[pick % keys.size()].path;
      const std::string_view name = path.substr(path.rfind('.') + 1);
      out += name == "*" ? std::string_view("w") : name;
      if (pick % 2 == 0) out += ": ";
    }
  }
  return out;
}

std::expected<std::string, std::string> no_files(const std::string& path) {
  if (path == "/s") return "secret";
  return std::unexpected("not there");
}

void check(ConfigSources sources) {
  sources.read = no_files;
  const auto config = load(sources);
  if (!config) {
    require(!config.error().empty() && config.error().size() <= Mistakes::kMax + 1);
    for (const Mistake& mistake : config.error()) require(is_utf8(mistake.text()) && !mistake.what.empty());
    return;
  }
  for (const WorkerConfig& worker : config->workers) require(!worker.cases.empty() && !worker.topics.empty());
  const std::string shown = config_show_text(*config);
  if (shown.find("***") != std::string::npos) return;
  ConfigSources again;
  again.file = ConfigFile{"shown", shown};
  again.read = no_files;
  const auto second = load(again);
  require(second.has_value());
  const ConfigDiff difference = diff(*config, *second);
  require(difference.next_start.empty());
  for (const WorkerChange& worker : difference.workers) require(worker.change == Change::kUnchanged);
}

}  // namespace
}  // namespace bartleby::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bartleby;
  using namespace bartleby::fuzz;
  FuzzedDataProvider in(data, size);
  ConfigSources sources;
  const int way = in.ConsumeIntegralInRange(0, 4);
  sources.environment["V"] = in.ConsumeRandomLengthString(20);
  if (way == 1) sources.environment["BARTLEBY__WORKERS__W__CASES"] = in.ConsumeRandomLengthString(200);
  if (way == 2)
    sources.environment["BARTLEBY__" + in.ConsumeRandomLengthString(40)] = in.ConsumeRandomLengthString(200);
  if (way == 3) {
    std::string valid =
        "workers: {w: {topics: [a, b], handler: {http: {url: \"http://a/${V}\"}}, guard: null,"
        " cases: [{match: {json: /t, is: x}, retry: {linear: 1s}}, {handler: {pull: {}}}]}, v: }";
    damage(in, valid);
    sources.file = ConfigFile{"f", valid};
  } else {
    sources.file = ConfigFile{"f", way == 4 ? text_of_words(in) : in.ConsumeRemainingBytesAsString()};
  }
  check(std::move(sources));
  return 0;
}
