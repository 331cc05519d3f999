import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.util.backoff.BackOff;
import org.springframework.util.backoff.BackOffExecution;

/**
 * Reads a topic from its beginning with one of the peers and prints one line of JSON: what it handled per second, from
 * the first message to the last or until the time is up.
 *
 * <p>java Peers parallel|spring BOOTSTRAP TOPIC MESSAGES noop|failing SECONDS
 *
 * <p>noop: the handler does nothing. failing: one message in a hundred fails three times, after which it is waited for
 * 1 s, 5 s and 30 s; a message counts when it is first attempted.
 */
public final class Peers {
  private static final long[] STEPS = {1000, 5000, 30_000};

  private static final AtomicLong handled = new AtomicLong();
  private static volatile long first, last;
  private static long wanted;
  private static boolean failing;

  private Peers() {}

  public static void main(String[] args) throws Exception {
    String peer = args[0], bootstrap = args[1], topic = args[2];
    wanted = Long.parseLong(args[3]);
    failing = args[4].equals("failing");
    long limit = Long.parseLong(args[5]) * 1000;
    Map<String, Object> config = Map.of(
        "bootstrap.servers", bootstrap,
        "group.id", "peer-" + peer + "-" + ProcessHandle.current().pid(),
        "auto.offset.reset", "earliest",
        "enable.auto.commit", "false",
        "isolation.level", "read_committed",
        "max.poll.records", "1000",
        "key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        "value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
    Runnable stop = peer.equals("parallel") ? parallel(config, topic) : spring(config, topic);
    long began = System.currentTimeMillis();
    while (handled.get() < wanted && System.currentTimeMillis() - began < limit) Thread.sleep(5);
    long count = handled.get();
    long end = count >= wanted ? last : System.nanoTime();
    double seconds = (end - first) / 1e9;
    double cpu = ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    System.out.printf("{\"peer\": \"%s\", \"handled\": %d, \"per_second\": %.1f, \"cpu_ns\": %.0f}%n", peer, count,
        count > 0 && seconds > 0 ? count / seconds : 0, count > 0 ? cpu / count : 0);
    System.out.flush();
    Runtime.getRuntime().halt(0); // neither of them is measured while it stops
  }

  private static void counted() {
    long n = handled.incrementAndGet();
    if (n == 1) first = System.nanoTime();
    if (n == wanted) last = System.nanoTime();
  }

  private static boolean fails(int partition, long offset) {
    long h = (partition * 0x9E3779B97F4A7C15L + offset) * 0xBF58476D1CE4E5B9L;
    h ^= h >>> 31;
    return failing && Long.remainderUnsigned(h, 100) == 0;
  }

  // Key order, as many at once as our worker: 64.
  private static Runnable parallel(Map<String, Object> config, String topic) {
    var options = ParallelConsumerOptions.<byte[], byte[]>builder()
        .ordering(ParallelConsumerOptions.ProcessingOrder.KEY)
        .maxConcurrency(64)
        .consumer(new KafkaConsumer<>(config))
        .retryDelayProvider(context -> Duration.ofMillis(STEPS[Math.min(context.getNumberOfFailedAttempts(), 3) - 1]))
        .build();
    ParallelStreamProcessor<byte[], byte[]> processor = ParallelStreamProcessor.createEosStreamProcessor(options);
    processor.subscribe(List.of(topic));
    processor.poll(context -> {
      var record = context.getSingleRecord();
      int failed = record.getNumberOfFailedAttempts();
      if (failed == 0) counted();
      if (failed < 3 && fails(record.partition(), record.offset())) throw new IllegalStateException("no answer");
    });
    return processor::close;
  }

  // One thread, offsets committed with each batch: what its documentation begins with.
  private static Runnable spring(Map<String, Object> config, String topic) {
    var attempts = new java.util.concurrent.ConcurrentHashMap<Long, Integer>();
    ContainerProperties properties = new ContainerProperties(topic);
    properties.setMessageListener((MessageListener<byte[], byte[]>) (ConsumerRecord<byte[], byte[]> record) -> {
      if (!fails(record.partition(), record.offset())) {
        counted();
        return;
      }
      long who = record.partition() * 1_000_000_000_000L + record.offset();
      int attempt = attempts.merge(who, 1, Integer::sum);
      if (attempt == 1) counted();
      if (attempt <= 3) throw new IllegalStateException("no answer");
      attempts.remove(who);
    });
    var container = new KafkaMessageListenerContainer<byte[], byte[]>(new DefaultKafkaConsumerFactory<>(config), properties);
    BackOff steps = () -> new BackOffExecution() {
      private int at = 0;
      @Override
      public long nextBackOff() {
        return at < STEPS.length ? STEPS[at++] : STOP;
      }
    };
    container.setCommonErrorHandler(new DefaultErrorHandler(steps));
    container.start();
    return container::stop;
  }
}
