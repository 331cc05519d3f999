// A Kafka seen from outside, for tests: by Kafka's own client, which shares no code with ours.
//
// Run by `java -cp LIBS kafka_witness.java BOOTSTRAP`. Commands come on standard input, one a line; the answer is
// lines on standard output and ends with a dot. A line that begins with `! ` says what went wrong. Ends with its input.
//
//   create TOPIC PARTITIONS [COPIES]     partitions TOPIC TOTAL     delete TOPIC     set TOPIC NAME VALUE
//   move TOPIC                  every partition gets another leader, of the brokers that have a copy
//   place TOPIC PARTITIONS NODE,…  created with one copy on each of these brokers
//   keep TOPIC NODE,…           from now on it has copies on these alone, and the first leads; answers `partition leader
//                               number of copies`
//   deny TOPIC, allow TOPIC     nobody may write to it, or everybody may again
//   hide TOPIC                  nobody may read its settings
//   produce TOPIC FROM TO KEYS  messages m{n} with the key k{n % KEYS}; answers `n partition offset`
//   pad TOPIC FROM TO BYTES     the same with numbers of so many digits, each with a key of its own
//   send TOPIC KEY VALUE        one message; answers `partition offset`
//   times TOPIC MS…             one message for each of these times, m0, m1, … in partition 0
//   offsets GROUP               what the group has committed: `topic partition offset`
//   commits GROUP               the same, and the metadata behind it
//   commit GROUP TOPIC P OFFSET, uncommit GROUP TOPIC    as people do, of a group without members
//   members GROUP               ids of its members
//   cut TOPIC P OFFSET          deletes what lies below
//   ends TOPIC                  `partition end`, as read_committed sees it
//   written TOPIC               the same, with what no transaction has committed yet
//   in_step TOPIC               `partition node,…`: the brokers whose copies are in step
//   settings TOPIC              `partitions n`, `replicas n`, and every setting that it was made with: `name value`
//   read TOPIC                  committed records: partition, offset, key, value, header=value …, separated by tabs
import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

public class kafka_witness {
    private static final String STRINGS = "org.apache.kafka.common.serialization.StringSerializer";
    private static final String TO_STRINGS = "org.apache.kafka.common.serialization.StringDeserializer";

    private final String bootstrap;
    private final Admin admin;
    private final PrintStream out;
    private KafkaProducer<String, String> producer;

    kafka_witness(String bootstrap, PrintStream out) {
        this.bootstrap = bootstrap;
        this.out = out;
        this.admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false, StandardCharsets.UTF_8);
        kafka_witness witness = new kafka_witness(arguments[0], out);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                witness.answer(line.split(" "));
            } catch (ExecutionException e) {
                out.println("! " + e.getCause());
            } catch (Exception e) {
                out.println("! " + e);
            }
            out.println(".");
            out.flush();
        }
        System.exit(0);
    }

    private void answer(String[] words) throws Exception {
        switch (words[0]) {
            case "create" -> {
                short copies = words.length > 3 ? Short.parseShort(words[3]) : (short) -1;
                admin.createTopics(List.of(new NewTopic(words[1], Integer.parseInt(words[2]), copies))).all().get();
            }
            case "place" -> {
                Map<Integer, List<Integer>> copies = new HashMap<>();
                List<Integer> brokers = Arrays.stream(words[3].split(",")).map(Integer::valueOf).toList();
                for (int p = 0; p < Integer.parseInt(words[2]); ++p) copies.put(p, brokers);
                admin.createTopics(List.of(new NewTopic(words[1], copies))).all().get();
            }
            case "move" -> move(words[1]);
            case "keep" -> {
                List<Integer> brokers = Arrays.stream(words[2].split(",")).map(Integer::valueOf).toList();
                lead(words[1], one -> brokers);
                for (TopicPartitionInfo one : described(words[1]).partitions())
                    out.println(one.partition() + " " + leader(one) + " " + one.replicas().size());
            }
            case "partitions" -> admin.createPartitions(
                Map.of(words[1], NewPartitions.increaseTo(Integer.parseInt(words[2])))).all().get();
            case "delete" -> {
                admin.deleteTopics(List.of(words[1])).all().get();
                if (producer != null) producer.close(Duration.ZERO);  // it would send to partitions that were
                producer = null;
            }
            case "set" -> admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, words[1]),
                List.of(new AlterConfigOp(new ConfigEntry(words[2], words[3]), AlterConfigOp.OpType.SET)))).all().get();
            case "deny" -> admin.createAcls(List.of(nobodyWrites(words[1]))).all().get();
            case "hide" -> admin.createAcls(nobodySees(words[1])).all().get();
            case "allow" -> admin.deleteAcls(List.of(nobodyWrites(words[1]).toFilter())).all().get();
            case "produce" -> produce(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]),
                Integer.parseInt(words[4]));
            case "pad" -> {
                for (int n = Integer.parseInt(words[2]); n < Integer.parseInt(words[3]); ++n)
                    producer().send(new ProducerRecord<>(words[1], "p" + n,
                        "m" + String.format("%0" + words[4] + "d", n)));
                producer().flush();
            }
            case "times" -> {
                for (int n = 2; n < words.length; ++n)
                    producer().send(new ProducerRecord<>(words[1], 0, Long.parseLong(words[n]), "k" + n, "m" + (n - 2)));
                producer().flush();
            }
            case "send" -> {
                RecordMetadata where = producer().send(new ProducerRecord<>(words[1], words[2], words[3])).get();
                out.println(where.partition() + " " + where.offset());
            }
            case "offsets" -> admin.listConsumerGroupOffsets(words[1]).partitionsToOffsetAndMetadata().get()
                .forEach((at, commit) -> {
                    if (commit != null) out.println(at.topic() + " " + at.partition() + " " + commit.offset());
                });
            case "commits" -> admin.listConsumerGroupOffsets(words[1]).partitionsToOffsetAndMetadata().get()
                .forEach((at, commit) -> {
                    if (commit != null)
                        out.println(at.topic() + " " + at.partition() + " " + commit.offset() + " " + commit.metadata());
                });
            case "commit" -> admin.alterConsumerGroupOffsets(words[1],
                Map.of(new TopicPartition(words[2], Integer.parseInt(words[3])),
                    new OffsetAndMetadata(Long.parseLong(words[4]), words.length > 5 ? words[5] : ""))).all().get();
            case "uncommit" -> admin.deleteConsumerGroupOffsets(words[1], committed(words[1], words[2])).all().get();
            case "members" -> admin.describeConsumerGroups(List.of(words[1])).all().get().get(words[1]).members()
                .forEach(one -> out.println(one.consumerId()));
            case "cut" -> admin.deleteRecords(Map.of(new TopicPartition(words[1], Integer.parseInt(words[2])),
                RecordsToDelete.beforeOffset(Long.parseLong(words[3])))).all().get();
            case "ends" -> ends(words[1]);
            case "written" -> written(words[1]);
            case "in_step" -> {
                for (TopicPartitionInfo one : described(words[1]).partitions())
                    out.println(one.partition() + " " + one.isr().stream().map(node -> "" + node.id())
                        .collect(Collectors.joining(",")));
            }
            case "settings" -> settings(words[1]);
            case "read" -> read(words[1]);
            default -> throw new IllegalArgumentException("unknown command: " + words[0]);
        }
    }

    private Set<TopicPartition> committed(String group, String topic) throws Exception {
        return admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().keySet().stream()
            .filter(at -> at.topic().equals(topic)).collect(Collectors.toSet());
    }

    private static AclBinding nobodyWrites(String topic) {
        return new AclBinding(new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL),
            new AccessControlEntry("User:*", "*", AclOperation.WRITE, AclPermissionType.DENY));
    }

    // Where a topic has any rule, what none allows is forbidden.
    private static List<AclBinding> nobodySees(String topic) {
        ResourcePattern it = new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL);
        return List.of(
            new AclBinding(it, new AccessControlEntry("User:*", "*", AclOperation.ALL, AclPermissionType.ALLOW)),
            new AclBinding(it, new AccessControlEntry("User:*", "*", AclOperation.DESCRIBE_CONFIGS,
                AclPermissionType.DENY)));
    }

    private KafkaProducer<String, String> producer() {
        if (producer == null)
            producer = new KafkaProducer<>(Map.of("bootstrap.servers", bootstrap, "key.serializer", STRINGS,
                "value.serializer", STRINGS, "linger.ms", "5", "metadata.max.age.ms", "1000",
                "delivery.timeout.ms", "60000"));
        return producer;
    }

    // Seen once: a record that stayed in the producer until its time was over. Another producer sends it then.
    private void produce(String topic, int from, int to, int keys) throws Exception {
        List<Integer> left = new ArrayList<>();
        for (int n = from; n < to; ++n) left.add(n);
        for (int tries = 1; !left.isEmpty(); ++tries) {
            Map<Integer, Future<RecordMetadata>> sent = new TreeMap<>();
            for (int n : left) sent.put(n, producer().send(new ProducerRecord<>(topic, "k" + n % keys, "m" + n)));
            producer.flush();
            left.clear();
            for (var one : sent.entrySet()) {
                try {
                    RecordMetadata where = one.getValue().get();
                    out.println(one.getKey() + " " + where.partition() + " " + where.offset());
                } catch (ExecutionException e) {
                    if (!(e.getCause() instanceof TimeoutException) || tries == 3) throw e;
                    left.add(one.getKey());
                }
            }
            if (left.isEmpty()) return;
            System.err.println("kafka_witness: " + left.size() + " of " + topic + " are sent again");
            producer.close(Duration.ZERO);
            producer = null;
        }
    }

    private KafkaConsumer<String, String> consumer() {
        return new KafkaConsumer<>(Map.of("bootstrap.servers", bootstrap, "key.deserializer", TO_STRINGS,
            "value.deserializer", TO_STRINGS, "isolation.level", "read_committed", "auto.offset.reset", "earliest"));
    }

    private static List<TopicPartition> partitions(KafkaConsumer<String, String> consumer, String topic) {
        List<TopicPartition> all = new ArrayList<>();
        for (PartitionInfo one : consumer.partitionsFor(topic)) all.add(new TopicPartition(topic, one.partition()));
        return all;
    }

    private void ends(String topic) {
        try (KafkaConsumer<String, String> consumer = consumer()) {
            consumer.endOffsets(partitions(consumer, topic))
                .forEach((at, end) -> out.println(at.partition() + " " + end));
        }
    }

    private void written(String topic) throws Exception {
        Map<TopicPartition, OffsetSpec> all = new HashMap<>();
        for (TopicPartitionInfo one : described(topic).partitions())
            all.put(new TopicPartition(topic, one.partition()), OffsetSpec.latest());
        admin.listOffsets(all).all().get().forEach((at, end) -> out.println(at.partition() + " " + end.offset()));
    }

    private void move(String topic) throws Exception {
        lead(topic, one -> {
            List<Integer> copies = new ArrayList<>(one.replicas().stream().map(node -> node.id()).toList());
            Collections.rotate(copies, 1);
            return copies;
        });
        for (TopicPartitionInfo one : described(topic).partitions())
            out.println(one.partition() + " " + leader(one));
    }

    // Every partition gets these copies, and the first of them leads, if it is in step.
    private void lead(String topic, Function<TopicPartitionInfo, List<Integer>> copies) throws Exception {
        Map<TopicPartition, Optional<NewPartitionReassignment>> orders = new HashMap<>();
        for (TopicPartitionInfo one : described(topic).partitions())
            orders.put(new TopicPartition(topic, one.partition()),
                Optional.of(new NewPartitionReassignment(copies.apply(one))));
        admin.alterPartitionReassignments(orders).all().get();
        admin.electLeaders(ElectionType.PREFERRED, orders.keySet()).partitions().get();
    }

    private static String leader(TopicPartitionInfo one) {
        return one.leader() == null ? "none" : "" + one.leader().id();
    }

    private TopicDescription described(String topic) throws Exception {
        return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic);
    }

    private void settings(String topic) throws Exception {
        TopicDescription layout = described(topic);
        out.println("partitions " + layout.partitions().size());
        out.println("replicas " + layout.partitions().get(0).replicas().size());
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        for (ConfigEntry entry : admin.describeConfigs(List.of(resource)).all().get().get(resource).entries())
            out.println(entry.name() + " " + entry.value());
    }

    private void read(String topic) {
        try (KafkaConsumer<String, String> consumer = consumer()) {
            List<TopicPartition> all = partitions(consumer, topic);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            consumer.assign(all);
            consumer.seekToBeginning(all);
            while (all.stream().anyMatch(at -> consumer.position(at) < ends.get(at)))
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) tell(record);
        }
    }

    private void tell(ConsumerRecord<String, String> record) {
        StringBuilder line = new StringBuilder();
        line.append(record.partition()).append('\t').append(record.offset()).append('\t').append(record.key());
        line.append('\t').append(record.value());
        for (Header header : record.headers())
            line.append('\t').append(header.key()).append('=')
                .append(new String(header.value(), StandardCharsets.UTF_8).replaceAll("\\s", " "));
        out.println(line);
    }
}
