#include "wiring/config_node.h"

#include <algorithm>
#include <tuple>

#include "codec/json_text.h"
#include "codec/utf8.h"

namespace bartleby {

std::string Origin::text() const {
  std::string out = name ? *name : "default";
  if (line > 0) out += ":" + std::to_string(line) + ":" + std::to_string(column);
  return out;
}

std::string Mistake::text() const {
  std::string out = where;
  if (!key.empty()) out += ": " + key;
  return out + ": " + what;
}

const ConfigNode* ConfigNode::find(std::string_view key) const {
  const auto found = std::ranges::find(entries, key, &ConfigEntry::key);
  return found == entries.end() ? nullptr : &found->value;
}

ConfigNode* ConfigNode::find(std::string_view key) {
  const auto found = std::ranges::find(entries, key, &ConfigEntry::key);
  return found == entries.end() ? nullptr : &found->value;
}

ConfigNode& ConfigNode::at(std::string_view key) {
  if (ConfigNode* found = find(key)) return *found;
  entries.push_back({std::string(key), origin, {}});
  return entries.back().value;
}

void ConfigNode::erase(std::string_view key) {
  std::erase_if(entries, [&](const ConfigEntry& entry) { return entry.key == key; });
}

void Mistakes::add(const Origin& origin, std::string key, std::string what) {
  Mistake mistake{origin.text(), std::move(key), std::move(what)};
  // A value that several workers inherit is wrong once.
  if (std::ranges::any_of(found_, [&](const Found& f) { return f.mistake == mistake; })) return;
  if (found_.size() == kMax) {
    ++beyond_;
    return;
  }
  found_.push_back({origin.line, origin.column, found_.size(), std::move(mistake)});
}

std::vector<Mistake> Mistakes::take() {
  std::ranges::sort(found_, {}, [](const Found& f) { return std::tuple(f.line, f.column, f.number); });
  std::vector<Mistake> out;
  out.reserve(found_.size() + 1);
  for (Found& f : found_) out.push_back(std::move(f.mistake));
  if (beyond_ > 0) out.push_back({"configuration", "", "and " + std::to_string(beyond_) + " more mistakes"});
  return out;
}

std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      row[j] = std::min({last[j - 1] + (from[i - 1] == to[j - 1] ? 0U : 1U), last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last.back();
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > 100) return {};
  const std::string* best = nullptr;
  std::size_t least = SIZE_MAX;
  for (const std::string& candidate : candidates) {
    // Beyond a third of its letters a word is not a slip of the finger but something else.
    const std::size_t longer = std::max(candidate.size(), word.size());
    const std::size_t allowed = std::max<std::size_t>(longer / 3, 1);
    if (longer - std::min(candidate.size(), word.size()) > std::min(allowed, least)) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > allowed || distance >= least) continue;
    best = &candidate;
    least = distance;
  }
  if (best != nullptr) return *best;
  // Or a word cut short or carried on: `warning` for `warn`.
  for (const std::string& candidate : candidates) {
    const std::size_t shorter = std::min(word.size(), candidate.size());
    const std::size_t longer = std::max(word.size(), candidate.size());
    if (shorter >= 3 && longer - shorter <= 4 && word.substr(0, shorter) == candidate.substr(0, shorter))
      return candidate;
  }
  return {};
}

std::string quote(std::string_view text) {
  constexpr std::size_t kShown = 60;
  std::string cut = clean_utf8(text, {.characters = kShown});
  if (cut.size() < text.size()) cut += "…";
  std::string out;
  append_json_text(out, cut);
  return out;
}

std::string join(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) {
    if (!out.empty()) out += between;
    out += word;
  }
  return out;
}

}  // namespace bartleby
