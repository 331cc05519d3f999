#include "tests/sim/fragile_member.h"

namespace bartleby::sim {

bool is_version_2(const std::string& metadata) { return metadata.starts_with("b2."); }

std::string as_version_1(std::string metadata) {
  if (is_version_2(metadata)) metadata[1] = '1';
  return metadata;
}

void FragileMember::poll(std::vector<BrokerEvent>& out, Duration wait) {
  inner_.poll(out, wait);
  const auto understand = [this](std::vector<CommittedOffset>& offsets) {
    if (release_ == Release::kOld) return;
    for (CommittedOffset& o : offsets) o.metadata = as_version_1(std::move(o.metadata));
  };
  for (BrokerEvent& event : out) {
    if (std::holds_alternative<PartitionRevoked>(event)) coverage_.saw(Seen::kRevoked);
    if (std::holds_alternative<PartitionLost>(event)) coverage_.saw(Seen::kLost);
    if (const auto* w = std::get_if<WriteAnswered>(&event)) {
      if (w->result == WriteResult::kNotDone) coverage_.saw(Seen::kWriteNotDone);
      if (w->result == WriteResult::kUnknown) coverage_.saw(Seen::kWriteUnknown);
      if (w->result == WriteResult::kRefused) coverage_.saw(Seen::kWriteRefused);
    }
    if (auto* read = std::get_if<OffsetsRead>(&event)) understand(read->offsets);
    if (auto* resolved = std::get_if<WriteResolved>(&event)) understand(resolved->offsets);
  }
}

void FragileMember::write(Write w) {
  count();
  on_write_(w);
  if (release_ == Release::kWritesNewer) {
    for (OffsetToCommit& o : w.offsets) o.metadata[1] = '2';
    for (Record& r : w.records)
      if (r.topic.find(".parked.") != std::string::npos && r.value) r.value->insert(1, R"("later":{"since":2},)");
  }
  inner_.write(std::move(w));
}

}  // namespace bartleby::sim
