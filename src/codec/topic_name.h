// The names of the topics that belong to a worker: journal, dead letters.
//
// A template with `{topic} {group} {worker} {cluster_id}`, filled in. Characters a topic may not have become `_`, and
// a name that was changed or is too long gets 8 hex of a hash, so that two names stay two. Everybody who names such a
// topic does it here: an obituary in a journal of another spelling would be read by nobody.
#pragma once

#include <string>
#include <string_view>

namespace bartleby {

constexpr std::size_t kMaxTopicName = 249;

struct TopicWords {
  std::string_view topic, group, worker, cluster_id;
};

// The placeholders filled; others stay as they are.
std::string filled_template(std::string_view text, const TopicWords& words);

std::string topic_name(std::string_view text, const TopicWords& words);

// Kept for what Bartleby itself writes: `bartleby.…`, and whatever is named like a journal (`….parked.…`). It is read
// there as a fact, so an ordinary message could hide another one or call it dead.
bool is_kept_topic(std::string_view name);

}  // namespace bartleby
