// What a configuration says, before it means anything: a tree of maps, lists and scalars in which every node knows
// where it came from. And a mistake: where, which key, what is wrong with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bartleby {

// A file with line and column (from 1), a variable, a flag, or "default".
struct Origin {
  std::shared_ptr<const std::string> name;
  int line = 0;
  int column = 0;

  std::string text() const;
};

struct Mistake {
  std::string where;  // `bartleby.yaml:7:5`, `BARTLEBY__LISTEN`, `--listen`
  std::string key;    // `workers.orders.retry.max_attempts`; empty where it is about no key
  std::string what;

  std::string text() const;
  bool operator==(const Mistake&) const = default;
};

struct ConfigEntry;

struct ConfigNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  Origin origin;
  std::string text;      // of a scalar
  bool quoted = false;   // written in quotes: text, whatever it looks like
  bool secret = false;   // read from a file of secrets
  bool refused = false;  // it, or a key of it, was wrong and is not here; that has been said
  std::vector<ConfigNode> items;
  std::vector<ConfigEntry> entries;

  bool is_null() const { return kind == Kind::kNull; }
  bool is_map() const { return kind == Kind::kMap; }

  // Of a map; nullptr where the key is absent.
  const ConfigNode* find(std::string_view key) const;
  ConfigNode* find(std::string_view key);
  // Finds or adds.
  ConfigNode& at(std::string_view key);
  void erase(std::string_view key);
};

struct ConfigEntry {
  std::string key;
  Origin origin;  // of the key itself
  ConfigNode value;
};

// Collects mistakes; what is beyond the limit is only counted.
class Mistakes {
 public:
  static constexpr std::size_t kMax = 50;

  void add(const Origin& origin, std::string key, std::string what);
  bool empty() const { return found_.empty(); }
  // In the order of the file; the last says how many more there are.
  std::vector<Mistake> take();

 private:
  struct Found {
    int line;
    int column;
    std::size_t number;  // keeps the order of those at one place
    Mistake mistake;
  };

  std::vector<Found> found_;
  std::size_t beyond_ = 0;
};

// How many letters must be added, removed, replaced or swapped with their neighbour to turn one word into the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

// The candidate that was probably meant; empty where none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

// `"text"`, cut where it is long.
std::string quote(std::string_view text);

std::string join(const std::vector<std::string>& words, std::string_view between);

}  // namespace bartleby
