#include "codec/topic_name.h"

#include <array>
#include <cstdio>
#include <utility>

#include "base/hash.h"

namespace bartleby {

std::string filled_template(std::string_view text, const TopicWords& words) {
  const std::array<std::pair<std::string_view, std::string_view>, 4> values{{{"{topic}", words.topic},
                                                                             {"{group}", words.group},
                                                                             {"{worker}", words.worker},
                                                                             {"{cluster_id}", words.cluster_id}}};
  std::string out;
  while (!text.empty()) {
    bool found = false;
    for (const auto& [name, value] : values) {
      if (!text.starts_with(name)) continue;
      out += value;
      text.remove_prefix(name.size());
      found = true;
      break;
    }
    if (found) continue;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

std::string topic_name(std::string_view text, const TopicWords& words) {
  const std::string wanted = filled_template(text, words);
  std::string name = wanted;
  for (char& c : name) {
    const bool allowed =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!allowed) c = '_';
  }
  if (name == wanted && name.size() <= kMaxTopicName) return name;
  std::array<char, 10> hash{};
  std::snprintf(hash.data(), hash.size(), "_%08x", static_cast<std::uint32_t>(hash64(wanted)));
  name.resize(std::min(name.size(), kMaxTopicName - 9));
  return name + hash.data();
}

bool is_kept_topic(std::string_view name) {
  return name.starts_with("bartleby.") || name.find(".parked.") != std::string_view::npos;
}

}  // namespace bartleby
