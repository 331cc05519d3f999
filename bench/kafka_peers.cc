// The same topic read by what others use: Confluent's Parallel Consumer in key order, and Spring Kafka with its
// DefaultErrorHandler. Each is a process of its own (scripts/bench-peers), which says how many messages it handled per
// second; where one cannot be had the row says so.
#include "bench/kafka_rig.h"

#ifdef BARTLEBY_HAS_KAFKA

#include <cstdio>
#include <memory>
#include <string_view>

namespace bartleby::bench {
namespace {

constexpr int kSeconds = 20;  // of one run, if it is not through before

double number_after(std::string_view json, std::string_view name) {
  const std::size_t at = json.find(name);
  return at == std::string_view::npos ? 0 : std::atof(json.data() + at + name.size());
}

Ran peer_run(const OnKafka& kafka, const char* peer, const TopicShape& shape, const char* mode) {
  const std::string command = "scripts/bench-peers " + std::string(peer) + " " + kafka.bootstrap() + " " + shape.name +
                              " " + std::to_string(shape.messages) + " " + mode + " " + std::to_string(kSeconds);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(popen(command.c_str(), "r"), pclose);
  char line[512] = "";
  if (!out || std::fgets(line, sizeof line, out.get()) == nullptr) return {};
  return {number_after(line, "\"per_second\": "), number_after(line, "\"cpu_ns\": ")};
}

}  // namespace

Row beside(const char* name, const char* peer, const char* peer_name, const char* mode, const OnKafka& kafka,
           const TopicShape& shape, const std::function<Ran()>& ours) {
  bool there = true;
  Row row = compare(name, peer_name, 1.0, ours, [&] {
    const Ran ran = there ? peer_run(kafka, peer, shape, mode) : Ran{};
    there = ran.per_second > 0;
    return ran;
  });
  if (!there) {
    row.peer.reset();
    row.ratio.reset();
    row.met = false;
    row.peer_name += ": not to be had here";
  }
  row.notes.push_back(text("%zu messages of %zu bytes, %zu keys, %d partitions; the peer has %d s, and its processor time "
                           "contains the start of its virtual machine",
                           shape.messages, shape.bytes, shape.keys, kPartitions, kSeconds));
  return row;
}

}  // namespace bartleby::bench

#endif
