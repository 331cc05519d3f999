// Which topics are gone, are back, or are others under the same name, by what the cluster tells of them.
//
// One thread, no I/O. A topic is known by its id, where brokers have ids. It counts as gone when it was not found three
// times in a row. One that was never found is not missed: not every broker knows of a new one at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace bartleby::kafka {

// A topic that is there. Whoever deletes it and makes it anew gets another id.
struct TopicLook {
  std::string id;
  std::int32_t partitions = 0;
};

enum class TopicTurn : std::uint8_t { kSame, kGone, kBack, kAnew };

inline std::string words_of(TopicTurn turn, const std::string& topic) {
  switch (turn) {
    case TopicTurn::kGone:
      return "topic " + topic + " is gone; its partitions are given up";
    case TopicTurn::kBack:
      return "topic " + topic + " was not to be found for a while and is the same as before; it is read on";
    case TopicTurn::kAnew:
      return "topic " + topic + " was deleted and made anew; it is read from its beginning";
    case TopicTurn::kSame:
      break;
  }
  return "";
}

class TopicWatch {
 public:
  // What has become of it since the last look; nothing told: it was not found.
  TopicTurn look(const std::string& topic, const std::optional<TopicLook>& told) {
    if (!told) {
      if (!found(topic)) return TopicTurn::kSame;
      if (++not_found_[topic] != kNotFound) return TopicTurn::kSame;
      gone_.insert(topic);
      return TopicTurn::kGone;
    }
    not_found_.erase(topic);
    const bool back = gone_.erase(topic) > 0;
    std::string& id = ids_[topic];
    const bool anew = !id.empty() && !told->id.empty() && id != told->id;
    if (!told->id.empty()) id = told->id;
    return anew ? TopicTurn::kAnew : back ? TopicTurn::kBack : TopicTurn::kSame;
  }

  bool found(const std::string& topic) const { return ids_.contains(topic); }  // at least once

  // The last one told; empty: not known, or brokers have none.
  std::string id_of(const std::string& topic) const {
    const auto at = ids_.find(topic);
    return at == ids_.end() ? "" : at->second;
  }

 private:
  static constexpr int kNotFound = 3;  // looks

  std::map<std::string, std::string> ids_;
  std::map<std::string, int> not_found_;  // how often in a row
  std::set<std::string> gone_;
};

}  // namespace bartleby::kafka
