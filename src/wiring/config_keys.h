// Every key of the configuration, once: path, type, default, range, what it means, and what a change of it does.
//
// The reader, the variables, `config show`, `config env`, docs/configuration.md and the search for the key that was
// meant all come from this table. In a path `*` stands for a name that the user gives, `[]` for an item of a list.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bartleby {

enum class KeyType : std::uint8_t {
  kMap,
  kCases,  // a list of maps
  kBool,
  kNumber,
  kSize,
  kDuration,
  kPercent,
  kRate,  // `50/s`
  kChoice,
  kText,
  kName,      // letters, digits, . _ -
  kTemplate,  // a topic with {placeholders}
  kAddress,
  kUrl,
  kRedisUrl,
  kKeyTemplate,  // of a counter
  kPointer,
  kStart,
  kChoices,  // from here on: lists
  kNumbers,
  kDurations,
  kTexts,
  kNames,
  kNetworks,
};

constexpr bool is_url_type(KeyType type) { return type == KeyType::kUrl || type == KeyType::kRedisUrl; }
constexpr bool is_list(KeyType type) { return type >= KeyType::kChoices || type == KeyType::kCases; }

// What a change of the key does when the file is read again.
enum class Applies : std::uint8_t { kLive, kRestartsWorker, kNextStart };

// Of several keys in one map that share one of these, a map says one.
enum class OneOf : std::uint8_t { kNobody, kAttempts, kBackoff, kHandler, kField, kWanted, kBroker, kCounters, kSink };

struct Key {
  std::string_view path = {};
  KeyType type = KeyType::kMap;
  std::string_view fallback = {};  // as YAML; empty: none, or it depends on others (see `text`)
  std::string_view text = {};
  std::int64_t min = 0;  // numbers, bytes, milliseconds, percent; of lists: of each item
  std::int64_t max = 0;
  std::string_view choices = {};  // separated by blanks
  OneOf one_of = OneOf::kNobody;
  bool secret = false;
  bool may_be_empty = false;  // of lists
  Applies applies = Applies::kNextStart;
};

std::span<const Key> config_keys();

// The table as a tree. Keys of a worker appear in `defaults` too, `retry` in policies, and some in cases.
struct KeyBranch;
struct KeyTree {
  const Key* key = nullptr;  // absent at the root
  std::vector<KeyBranch> children;
  std::unique_ptr<KeyTree> any;   // `*`
  std::unique_ptr<KeyTree> item;  // of a list of maps

  const KeyTree* child(std::string_view name) const;
  std::vector<std::string> names() const;
};

struct KeyBranch {
  std::string name;
  KeyTree tree;
};

const KeyTree& key_tree();

std::vector<std::string> choices_of(const Key& key);

// What a value of this key must be: `a whole number from 1 to 100000`.
std::string wanted(const Key& key);

}  // namespace bartleby
