#include "adapters/broker/kafka/admin.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <thread>

#include "adapters/broker/kafka/held_properties.h"

namespace bartleby::kafka {
namespace {

constexpr std::size_t kTopicsKnown = 10000;  // more are not kept in memory; what is old goes first
constexpr std::int64_t kDefaultMaxMessage = 1048588;
constexpr std::chrono::seconds kReplicasKnown{1};  // how long it is believed who is in step
constexpr std::chrono::minutes kStrict{2};
constexpr Duration kReachLimit{2000};           // until a cluster counts as away
constexpr std::chrono::seconds kReachAgain{1};  // until it is asked again
constexpr std::chrono::seconds kAwayAgain{3};   // the same where it was away: each time somebody waits

int milliseconds(Duration d) { return static_cast<int>(d.count()); }

std::optional<std::int64_t> number_in(const char* text) {
  if (text == nullptr) return std::nullopt;
  const std::string_view all(text);
  std::int64_t n = 0;
  const auto [end, err] = std::from_chars(all.data(), all.data() + all.size(), n);
  if (err != std::errc() || end != all.data() + all.size()) return std::nullopt;
  return n;
}

void take_setting(TopicSpec& spec, std::string_view name, const char* value) {
  const auto n = number_in(value);
  if (!n || *n < 0) return;  // -1: no limit
  if (name == "retention.ms") spec.retention = Duration(*n);
  if (name == "retention.bytes") spec.retention_bytes = static_cast<std::uint64_t>(*n);
  if (name == "max.message.bytes") spec.max_message = static_cast<std::size_t>(*n);
}

// Behind the settings: Kafka tells limits, its defaults at least, of topics too that keep the latest of each key for
// ever.
void take_policy(TopicSpec& spec, std::string_view policy) {
  spec.compacted = policy.contains("compact");
  if (policy.contains("delete")) return;
  spec.retention.reset();
  spec.retention_bytes.reset();
}

// As many brokers may be away as the topic beside it can spare, where it has as many copies or fewer.
std::int32_t in_step_of(const TopicSpec& spec, std::int32_t copies) {
  const std::int32_t spared = spec.beside_replicas - spec.in_step;
  return copies >= spec.beside_replicas ? spec.in_step : std::min(spec.in_step, copies - std::max(spared, 0));
}

// What `max_message` leaves to the batch a record is in is ours to add: people count what they send. `copies`: that it
// is made with.
std::vector<std::pair<std::string, std::string>> settings_of(const TopicSpec& spec, std::int32_t copies) {
  std::vector<std::pair<std::string, std::string>> all;
  all.emplace_back("max.message.bytes", std::to_string(spec.max_message));
  if (spec.compacted) {
    // Entries are short-lived: what is dead must be cleaned away soon, or a takeover reads it all.
    all.emplace_back("cleanup.policy", "compact");
    all.emplace_back("segment.bytes", "16777216");
    all.emplace_back("segment.ms", "600000");
    all.emplace_back("min.cleanable.dirty.ratio", "0.1");
  }
  if (spec.retention) all.emplace_back("retention.ms", std::to_string(spec.retention->count()));
  if (spec.forever) all.emplace_back("retention.ms", "-1");
  if (!spec.compression.empty()) all.emplace_back("compression.type", spec.compression);
  if (spec.retention_bytes) all.emplace_back("retention.bytes", std::to_string(*spec.retention_bytes));
  if (const std::int32_t in_step = in_step_of(spec, copies); in_step > 1 && copies >= in_step)
    all.emplace_back("min.insync.replicas", std::to_string(in_step));
  return all;
}

// How many copies a topic shall have; 0: as many as the cluster makes by default.
std::int32_t wanted_copies(const TopicSpec& spec, std::int32_t usual) {
  const std::int32_t least = spec.least_replicas > std::max(usual, 1) ? spec.least_replicas : 0;
  return spec.replicas > 0 ? spec.replicas : least;
}

// A topic keeps for ever what it is made with, so brokers that are away for a moment count: a topic with as many
// copies, or what the cluster makes by default, shows that there are some. Kafka makes it all the same, or refuses,
// and then whoever wants it waits.
std::int32_t copies_of(const TopicSpec& spec, std::int32_t brokers, std::int32_t usual) {
  return std::min(wanted_copies(spec, usual), std::max({brokers, spec.beside_replicas, usual, 1}));
}

// Errors of single topics in the answer to an order about several.
Result<void> check_topics(const rd_kafka_topic_result_t** results, std::size_t count, rd_kafka_resp_err_t also_good) {
  for (std::size_t i = 0; i < count; ++i) {
    const rd_kafka_resp_err_t err = rd_kafka_topic_result_error(results[i]);
    if (err == RD_KAFKA_RESP_ERR_NO_ERROR || err == also_good) continue;
    const char* text = rd_kafka_topic_result_error_string(results[i]);
    const char* hint = err == RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR
                           ? " It is to have as many copies as the topic that it is made for, or as the configuration"
                             " says: it is made as soon as so many brokers are there."
                           : "";
    return fail(code_of(err), std::string("Kafka: topic ") + rd_kafka_topic_result_name(results[i]) + ": " +
                                  (text != nullptr ? text : rd_kafka_err2str(err)) + hint);
  }
  return {};
}

using NewTopicPtr = std::unique_ptr<rd_kafka_NewTopic_t, DestroyWith<rd_kafka_NewTopic_destroy>>;
using NewPartitionsPtr = std::unique_ptr<rd_kafka_NewPartitions_t, DestroyWith<rd_kafka_NewPartitions_destroy>>;
using ResourcePtr = std::unique_ptr<rd_kafka_ConfigResource_t, DestroyWith<rd_kafka_ConfigResource_destroy>>;

}  // namespace

Result<std::shared_ptr<Admin>> Admin::open(Options options) {
  for (const auto& [name, value] : options.properties)
    if (const auto why = held_property(name))
      return fail(ErrorCode::kInvalid, "Kafka: " + name + " may not be set: " + std::string(*why));
  auto kept = std::make_unique<const Options>(std::move(options));
  // It joins no group; but librdkafka 2.15.1 follows a null pointer when offsets are asked for by a handle without
  // `group.id` and the group's coordinator has just moved, as it does while a broker starts.
  auto handle =
      make_handle(RD_KAFKA_CONSUMER, *kept,
                  {{"group.id", "bartleby"}, {"enable.auto.commit", "false"}, {"allow.auto.create.topics", "false"}});
  if (!handle) return std::unexpected(handle.error());
  return std::make_shared<Admin>(std::move(kept), std::move(*handle));
}

Admin::Admin(std::unique_ptr<const Options> options, HandlePtr handle)
    : options_(std::move(options)), handle_(std::move(handle)) {}

AdminOptionsPtr Admin::admin_options(rd_kafka_admin_op_t op, std::uint64_t number) const {
  AdminOptionsPtr made(rd_kafka_AdminOptions_new(handle_.get(), op));
  std::array<char, 256> text{};
  rd_kafka_AdminOptions_set_request_timeout(made.get(), milliseconds(options_->request_limit), text.data(),
                                            text.size());
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a number that comes back, followed by nobody
  rd_kafka_AdminOptions_set_opaque(made.get(), reinterpret_cast<void*>(static_cast<std::uintptr_t>(number)));
  return made;
}

Result<EventPtr> Admin::answer(rd_kafka_queue_t* queue, const std::string& what) const {
  // The request has its own limit; this one is for a client that does not keep it.
  EventPtr event(rd_kafka_queue_poll(queue, milliseconds(options_->request_limit) + 2000));
  if (!event) return fail(ErrorCode::kUnavailable, "Kafka: " + what + ": no answer");
  if (const rd_kafka_resp_err_t err = rd_kafka_event_error(event.get()); err != RD_KAFKA_RESP_ERR_NO_ERROR)
    return fail(code_of(err), "Kafka: " + what + ": " + rd_kafka_event_error_string(event.get()));
  return event;
}

Result<void> Admin::reached() {
  const std::lock_guard one_at_a_time(reaching_);
  if (reached_at_ != Clock::time_point{} && Clock::now() - reached_at_ < (reached_ ? kReachAgain : kAwayAgain))
    return reached_;
  const rd_kafka_metadata_t* read = nullptr;
  // Of no topic at all: the question is only whether somebody answers.
  const rd_kafka_resp_err_t err = rd_kafka_metadata(handle_.get(), 0, nullptr, &read, milliseconds(kReachLimit));
  const MetadataPtr ignored(read);
  if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
    reached_ = {};
  else
    reached_ = error_of(err, "Kafka at " + options_->bootstrap + " does not answer: is it running, may we reach it?");
  reached_at_ = Clock::now();
  return reached_;
}

// ---- Topics ------------------------------------------------------------------------------------------

Result<std::map<std::string, Admin::Layout>> Admin::partitions(const std::optional<std::string>& topic) {
  rd_kafka_topic_t* one = topic ? rd_kafka_topic_new(handle_.get(), topic->c_str(), nullptr) : nullptr;
  if (topic && one == nullptr) return fail(ErrorCode::kInvalid, "Kafka: not a name of a topic: " + *topic);
  const rd_kafka_metadata_t* read = nullptr;
  const rd_kafka_resp_err_t err =
      rd_kafka_metadata(handle_.get(), topic ? 0 : 1, one, &read, milliseconds(options_->request_limit));
  if (one != nullptr) rd_kafka_topic_destroy(one);
  const MetadataPtr metadata(read);
  if (err != RD_KAFKA_RESP_ERR_NO_ERROR) return error_of(err, "Kafka: " + options_->bootstrap);
  std::map<std::string, Layout> found;
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    const rd_kafka_metadata_topic_t& t = metadata->topics[i];
    if (topic && t.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
      return fail(ErrorCode::kNotFound, "no such topic: " + *topic);
    if (topic && t.err != RD_KAFKA_RESP_ERR_NO_ERROR && t.partition_cnt == 0)
      return error_of(t.err, "Kafka: topic " + *topic);
    if (t.err != RD_KAFKA_RESP_ERR_NO_ERROR || (!topic && std::string_view(t.topic).starts_with("__"))) continue;
    Layout& layout = found[t.topic];
    layout.partitions = t.partition_cnt;
    layout.copies.resize(static_cast<std::size_t>(t.partition_cnt));
    for (const rd_kafka_metadata_partition_t& p : std::span(t.partitions, layout.copies.size())) {
      layout.replicas = std::max(layout.replicas, p.replica_cnt);
      if (p.id >= 0 && p.id < t.partition_cnt)
        layout.copies[static_cast<std::size_t>(p.id)] = {.all = p.replica_cnt, .in_step = p.leader < 0 ? 0 : p.isr_cnt};
    }
  }
  if (topic && found.empty()) return fail(ErrorCode::kNotFound, "no such topic: " + *topic);
  return found;
}

void Admin::take_settings(Known& known, const rd_kafka_ConfigResource_t* told) {
  std::string_view policy = "delete";
  std::size_t count = 0;
  const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(told, &count);
  for (const rd_kafka_ConfigEntry_t* entry : std::span(entries, count)) {
    const std::string_view setting = rd_kafka_ConfigEntry_name(entry);
    const char* value = rd_kafka_ConfigEntry_value(entry);
    take_setting(known.spec, setting, value);
    const auto n = number_in(value);
    if (setting == "min.insync.replicas") {
      known.needed = static_cast<std::int32_t>(n.value_or(1));
      // What the cluster has for all topics, those that are made beside it have too.
      const bool own = rd_kafka_ConfigEntry_source(entry) == RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG;
      known.spec.in_step = own ? known.needed : 0;
    }
    if (setting == "segment.bytes" && n && *n > 0) known.segment = static_cast<std::uint64_t>(*n);
    if (setting == "cleanup.policy" && value != nullptr) policy = value;
  }
  take_policy(known.spec, policy);
}

// Who may not read settings works with the defaults, and says so; an error that may be over soon is none of those.
void Admin::take_told(std::map<std::string, Known>& specs, const rd_kafka_ConfigResource_t* told) {
  const auto at = specs.find(rd_kafka_ConfigResource_name(told));
  if (at == specs.end()) return;
  switch (const rd_kafka_resp_err_t err = rd_kafka_ConfigResource_error(told)) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
      return take_settings(at->second, told);
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
      specs.erase(at);
      return;
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      at->second.spec.hidden = true;
      return;
    default:
      at->second.unread = Error{code_of(err), "Kafka: settings of topic " + at->first + ": " + rd_kafka_err2str(err)};
  }
}

Result<std::vector<Admin::Known>> Admin::with_settings(const std::map<std::string, Layout>& topics) {
  std::map<std::string, Known> specs;
  std::vector<ResourcePtr> owned;
  std::vector<rd_kafka_ConfigResource_t*> asked;
  for (const auto& [name, layout] : topics) {
    TopicSpec spec;
    spec.name = name;
    spec.partitions = layout.partitions;
    spec.replicas = layout.replicas;
    spec.max_message = kDefaultMaxMessage;
    specs[name] = {Clock::now(), std::move(spec), layout.copies, 1, std::nullopt, std::nullopt};
    asked.push_back(owned.emplace_back(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name.c_str())).get());
  }
  if (!asked.empty()) {
    const QueuePtr queue(rd_kafka_queue_new(handle_.get()));
    rd_kafka_DescribeConfigs(handle_.get(), asked.data(), asked.size(),
                             admin_options(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS).get(), queue.get());
    const auto event = answer(queue.get(), "settings of topics");
    if (!event) return std::unexpected(event.error());
    std::size_t count = 0;
    const rd_kafka_ConfigResource_t** resources =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event->get()), &count);
    for (const rd_kafka_ConfigResource_t* told : std::span(resources, count)) take_told(specs, told);
  }
  std::vector<Known> all;
  const std::lock_guard lock(mutex_);
  if (known_.size() + specs.size() > kTopicsKnown)
    std::erase_if(known_, [&](const auto& one) { return Clock::now() - one.second.read >= options_->topic_known; });
  for (auto& [name, known] : specs) {
    all.push_back(known);
    if (!known.unread && (known_.size() < kTopicsKnown || known_.contains(name))) known_[name] = std::move(known);
  }
  return all;
}

Result<std::vector<TopicSpec>> Admin::topics() {
  const auto found = partitions(std::nullopt);
  if (!found) return std::unexpected(found.error());
  const auto known = with_settings(*found);
  if (!known) return std::unexpected(known.error());
  std::vector<TopicSpec> all;
  for (const Known& one : *known) all.push_back(one.spec);
  return all;
}

Result<std::vector<TopicSpec>> Admin::topic_names() {
  const auto found = partitions(std::nullopt);
  if (!found) return std::unexpected(found.error());
  std::vector<TopicSpec> all;
  for (const auto& [name, layout] : *found) {
    all.emplace_back().name = name;
    all.back().partitions = layout.partitions;
  }
  return all;
}

Result<TopicSpec> Admin::describe(const std::string& topic) {
  const auto found = partitions(topic);
  if (!found) {
    forget(topic);
    return std::unexpected(found.error());
  }
  auto all = with_settings(*found);
  if (!all) return std::unexpected(all.error());
  if (all->empty()) return fail(ErrorCode::kNotFound, "no such topic: " + topic);
  if (all->front().unread) return std::unexpected(*all->front().unread);
  return std::move(all->front().spec);
}

Result<TopicSpec> Admin::known(const std::string& topic) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = known_.find(topic);
    if (at != known_.end() && Clock::now() - at->second.read < options_->topic_known) return at->second.spec;
  }
  return describe(topic);
}

Result<bool> Admin::short_of_replicas(const std::string& topic, std::optional<Partition> partition) {
  for (bool asked = false;; asked = true) {
    {
      const std::lock_guard lock(mutex_);
      const auto at = known_.find(topic);
      const bool there = at != known_.end() && (asked || Clock::now() - at->second.read < kReplicasKnown);
      // A partition with fewer copies than are asked for takes records when all of them are in step: brokers since 3.7.
      const auto wanting = [&](const Copies& c) {
        return c.in_step < (Clock::now() < strict_until_ ? at->second.needed : std::min(at->second.needed, c.all));
      };
      if (there && partition && static_cast<std::size_t>(partition->v) < at->second.copies.size())
        return wanting(at->second.copies[static_cast<std::size_t>(partition->v)]);
      if (there || asked) return there && std::ranges::any_of(at->second.copies, wanting);
    }
    if (const auto read = describe(topic); !read) return std::unexpected(read.error());
  }
}

std::optional<std::uint64_t> Admin::most_bytes(const std::string& topic) {
  const std::lock_guard lock(mutex_);
  const auto at = known_.find(topic);
  if (at == known_.end() || !at->second.spec.retention_bytes || !at->second.segment) return std::nullopt;
  return *at->second.spec.retention_bytes + *at->second.segment;
}

void Admin::not_taken(const std::string& topic) {
  const std::lock_guard lock(mutex_);
  const auto at = known_.find(topic);
  if (at == known_.end()) return;
  const auto few = [&](const Copies& c) { return c.in_step == c.all && c.all < at->second.needed; };
  if (std::ranges::any_of(at->second.copies, few)) strict_until_ = Clock::now() + kStrict;
}

void Admin::forget(const std::string& topic) {
  const std::lock_guard lock(mutex_);
  known_.erase(topic);
}

Result<Admin::Brokers> Admin::brokers() {
  const rd_kafka_metadata_t* read = nullptr;
  const rd_kafka_resp_err_t err =
      rd_kafka_metadata(handle_.get(), 0, nullptr, &read, milliseconds(options_->request_limit));
  const MetadataPtr metadata(read);
  if (err != RD_KAFKA_RESP_ERR_NO_ERROR) return error_of(err, "Kafka: " + options_->bootstrap);
  return Brokers{metadata->broker_cnt, metadata->broker_cnt > 0 ? usual_replicas(metadata->brokers[0].id) : 0};
}

// Whoever may not know it does without.
std::int32_t Admin::usual_replicas(std::int32_t broker) {
  const ResourcePtr asked(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_BROKER, std::to_string(broker).c_str()));
  rd_kafka_ConfigResource_t* one = asked.get();
  const QueuePtr queue = new_queue();
  rd_kafka_DescribeConfigs(handle_.get(), &one, 1, admin_options(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS).get(), queue.get());
  const auto event = answer(queue.get(), "settings of a broker");
  if (!event) return 0;
  std::size_t count = 0;
  const auto** told =
      rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event->get()), &count);
  if (count != 1 || rd_kafka_ConfigResource_error(told[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) return 0;
  const rd_kafka_ConfigEntry_t** entries = rd_kafka_ConfigResource_configs(told[0], &count);
  for (const rd_kafka_ConfigEntry_t* entry : std::span(entries, count))
    if (std::string_view(rd_kafka_ConfigEntry_name(entry)) == "default.replication.factor")
      return static_cast<std::int32_t>(number_in(rd_kafka_ConfigEntry_value(entry)).value_or(0));
  return 0;
}

// It stays so: Kafka adds no copies by itself when there are more brokers.
void Admin::tell_few(const TopicSpec& spec, std::int32_t copies, std::int32_t wanted) const {
  if (copies >= wanted || !options_->log) return;
  options_->log(4, "topic " + spec.name + " is made with " + std::to_string(copies) +
                       (copies == 1 ? " copy" : " copies") + " and not with " + std::to_string(wanted) +
                       ": there are no more brokers now");
}

Result<void> Admin::create(const std::vector<TopicSpec>& wanted) {
  Result<Brokers> brokers = Brokers{};
  const auto chooses = [](const TopicSpec& spec) { return spec.replicas > 0 || spec.least_replicas > 1; };
  if (std::ranges::any_of(wanted, chooses)) brokers = this->brokers();
  if (!brokers) return std::unexpected(brokers.error());
  std::vector<NewTopicPtr> owned;
  std::vector<rd_kafka_NewTopic_t*> all;
  for (const TopicSpec& spec : wanted) {
    const std::int32_t copies = copies_of(spec, brokers->up, brokers->usual_replicas);
    std::array<char, 256> text{};
    NewTopicPtr topic(
        rd_kafka_NewTopic_new(spec.name.c_str(), spec.partitions, copies > 0 ? copies : -1, text.data(), text.size()));
    if (!topic) return fail(ErrorCode::kInvalid, "Kafka: topic " + spec.name + ": " + text.data());
    for (const auto& [name, value] : settings_of(spec, copies > 0 ? copies : brokers->usual_replicas))
      rd_kafka_NewTopic_set_config(topic.get(), name.c_str(), value.c_str());
    tell_few(spec, copies, wanted_copies(spec, brokers->usual_replicas));
    all.push_back(owned.emplace_back(std::move(topic)).get());
  }
  const QueuePtr queue(rd_kafka_queue_new(handle_.get()));
  rd_kafka_CreateTopics(handle_.get(), all.data(), all.size(), admin_options(RD_KAFKA_ADMIN_OP_CREATETOPICS).get(),
                        queue.get());
  const auto event = answer(queue.get(), "creating topics");
  if (!event) return std::unexpected(event.error());
  std::size_t count = 0;
  const auto* result = rd_kafka_event_CreateTopics_result(event->get());
  const auto** made = rd_kafka_CreateTopics_result_topics(result, &count);
  return check_topics(made, count, RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS);
}

Result<void> Admin::grow(const std::vector<TopicSpec>& wanted) {
  std::vector<NewPartitionsPtr> owned;
  std::vector<rd_kafka_NewPartitions_t*> all;
  for (const TopicSpec& spec : wanted) {
    std::array<char, 256> text{};
    NewPartitionsPtr more(rd_kafka_NewPartitions_new(spec.name.c_str(), static_cast<std::size_t>(spec.partitions),
                                                     text.data(), text.size()));
    if (!more) return fail(ErrorCode::kInvalid, "Kafka: topic " + spec.name + ": " + text.data());
    all.push_back(owned.emplace_back(std::move(more)).get());
  }
  const QueuePtr queue(rd_kafka_queue_new(handle_.get()));
  rd_kafka_CreatePartitions(handle_.get(), all.data(), all.size(),
                            admin_options(RD_KAFKA_ADMIN_OP_CREATEPARTITIONS).get(), queue.get());
  const auto event = answer(queue.get(), "adding partitions");
  if (!event) return std::unexpected(event.error());
  std::size_t count = 0;
  const auto* result = rd_kafka_event_CreatePartitions_result(event->get());
  const auto** grown = rd_kafka_CreatePartitions_result_topics(result, &count);
  return check_topics(grown, count, RD_KAFKA_RESP_ERR_INVALID_PARTITIONS);  // somebody else was first
}

Result<std::vector<TopicSpec>> Admin::ensure(const std::vector<TopicSpec>& wanted) {
  std::map<std::string, TopicSpec> specs;
  for (const TopicSpec& spec : wanted) {
    if (spec.partitions < 1) return fail(ErrorCode::kInvalid, "a topic has at least one partition: " + spec.name);
    TopicSpec& whole = specs.try_emplace(spec.name, spec).first->second;
    whole.partitions = std::max(whole.partitions, spec.partitions);
    whole.least_replicas = std::max(whole.least_replicas, spec.least_replicas);
    whole.beside_replicas = std::max(whole.beside_replicas, spec.beside_replicas);
    whole.in_step = std::max(whole.in_step, spec.in_step);
  }
  std::vector<TopicSpec> missing, small;
  for (const auto& [name, spec] : specs) {
    const auto there = partitions(name);
    if (!there && there.error().code != ErrorCode::kNotFound) return std::unexpected(there.error());
    if (!there) missing.push_back(spec);
    if (there && there->begin()->second.partitions < spec.partitions) small.push_back(spec);
  }
  if (!missing.empty())
    if (const auto made = create(missing); !made) return std::unexpected(made.error());
  if (!small.empty())
    if (const auto made = grow(small); !made) return std::unexpected(made.error());

  // What was made is not at once known to every broker.
  const auto limit = Clock::now() + options_->request_limit;
  std::vector<TopicSpec> there;
  for (const TopicSpec& spec : wanted) {
    Result<TopicSpec> found = describe(spec.name);
    while ((!found || found->partitions < specs[spec.name].partitions) && Clock::now() < limit) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      found = describe(spec.name);
    }
    if (!found) return std::unexpected(found.error());
    // Nor has every partition a leader at once.
    const bool fresh = std::ranges::count(missing, spec.name, &TopicSpec::name) > 0 ||
                       std::ranges::count(small, spec.name, &TopicSpec::name) > 0;
    for (std::int32_t p = 0; fresh && p < found->partitions; ++p)
      if (const auto led = end_of({spec.name, Partition(p)}, End::kStart); !led) return std::unexpected(led.error());
    there.push_back(std::move(*found));
  }
  return there;
}

}  // namespace bartleby::kafka
