// What a value of a key must be, in words.
#include <algorithm>

#include "wiring/config_keys.h"
#include "wiring/config_node.h"
#include "wiring/config_values.h"

namespace bartleby {
namespace {

std::string range(const Key& key, std::string (*text)(std::int64_t)) {
  return " from " + text(key.min) + " to " + text(key.max);
}

std::string plain(std::int64_t number) { return std::to_string(number); }
std::string percent(std::int64_t number) { return std::to_string(number) + "%"; }
std::string rate(std::int64_t number) { return std::to_string(number) + "/s"; }
std::string duration(std::int64_t number) { return duration_text(Duration(number)); }
std::string size(std::int64_t number) { return size_text(static_cast<std::uint64_t>(number)); }

}  // namespace

std::vector<std::string> choices_of(const Key& key) {
  std::vector<std::string> out;
  for (std::string_view rest = key.choices; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::string wanted(const Key& key) {
  switch (key.type) {
    case KeyType::kMap:
      return "a map";
    case KeyType::kCases:
      return "a list of maps";
    case KeyType::kBool:
      return "true or false";
    case KeyType::kNumber:
      return "a whole number" + range(key, plain);
    case KeyType::kSize:
      return "a size" + range(key, size);
    case KeyType::kDuration:
      return "a duration" + range(key, duration);
    case KeyType::kPercent:
      return "a percentage" + range(key, percent);
    case KeyType::kRate:
      return "a rate" + range(key, rate);
    case KeyType::kChoice: {
      std::vector<std::string> choices = choices_of(key);
      const std::string last = std::move(choices.back());
      choices.pop_back();
      return choices.empty() ? last : join(choices, ", ") + " or " + last;
    }
    case KeyType::kText:
      return "a text of 1 to 4096 characters";
    case KeyType::kName:
      return "a name of 1 to 200 letters, digits, . _ -";
    case KeyType::kTemplate:
      return "a topic name that may hold {topic} {group} {worker} {cluster_id}";
    case KeyType::kAddress:
      return "host:port, such as 127.0.0.1:1853";
    case KeyType::kUrl:
      return "a URL such as http://localhost:3000/orders";
    case KeyType::kRedisUrl:
      return "a URL such as redis://localhost:6379/0";
    case KeyType::kKeyTemplate:
      return "a key such as ticket:retry_count:{/ticket_id}";
    case KeyType::kPointer:
      return "a JSON pointer such as /event_type";
    case KeyType::kStart:
      return "earliest, latest or a time such as 2025-01-15T10:30:00Z";
    case KeyType::kChoices:
      return "a list of " + join(choices_of(key), ", ");
    case KeyType::kNumbers:
      return "a list of whole numbers" + range(key, plain);
    case KeyType::kDurations:
      return "a list of durations" + range(key, duration);
    case KeyType::kTexts:
      return "a list of texts";
    case KeyType::kNames:
      return "a list of names (letters, digits, . _ -)";
    case KeyType::kNetworks:
      return "a list of networks such as 10.0.0.0/8";
  }
  return {};
}

}  // namespace bartleby
