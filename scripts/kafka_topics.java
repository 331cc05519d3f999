// Makes topics that are missing: `java -cp LIBS kafka_topics.java BOOTSTRAP NAME:PARTITIONS…`; scripts/kafka calls it.
//
// Copies and settings are the cluster's usual ones. One that is there stays as it is.
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.errors.TopicExistsException;

public class kafka_topics {
    public static void main(String[] words) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", words[0]))) {
            for (int i = 1; i < words.length; ++i) {
                int colon = words[i].lastIndexOf(':');
                int partitions = Integer.parseInt(words[i].substring(colon + 1));
                NewTopic topic = new NewTopic(words[i].substring(0, colon), partitions, (short) -1);
                try {
                    admin.createTopics(List.of(topic)).all().get();
                } catch (ExecutionException why) {
                    if (why.getCause() instanceof TopicExistsException) continue;
                    System.err.println("kafka: " + topic.name() + ": " + why.getCause().getMessage());
                    System.exit(1);
                }
            }
        }
    }
}
