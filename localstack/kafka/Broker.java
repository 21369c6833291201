import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * One broker of Apache Kafka in this process, on loopback, with a new and empty directory. Commands come by standard input, a line each, and each
 * has one line of answer, which begins with "ok" or "error". The process ends with its standard input.
 *
 * <pre>
 *   create TOPIC PARTITIONS · delete TOPIC · send TOPIC PARTITION VALUE-IN-BASE64 · fetch TOPIC PARTITION OFFSET MAXIMUM
 * </pre>
 */
public final class Broker {
  private static byte[] decoded(String text) {
    return Base64.getDecoder().decode(text);
  }

  private static String encoded(byte[] value) {
    return value == null ? "null" : '"' + Base64.getEncoder().encodeToString(value) + '"';
  }

  private static int freePort() throws Exception {
    try (ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return s.getLocalPort();
    }
  }

  private static String start(Path dir) throws Exception {
    String broker = "127.0.0.1:" + freePort();
    String controller = "127.0.0.1:" + freePort();
    Path properties = dir.resolve("server.properties");
    Files.writeString(properties, String.join("\n",
        "process.roles=broker,controller", "node.id=1", "controller.quorum.bootstrap.servers=" + controller,
        "listeners=PLAINTEXT://" + broker + ",CONTROLLER://" + controller,
        "advertised.listeners=PLAINTEXT://" + broker + ",CONTROLLER://" + controller,
        "controller.listener.names=CONTROLLER", "log.dirs=" + dir.resolve("data"), "auto.create.topics.enable=false",
        "offsets.topic.replication.factor=1", "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1"));
    kafka.tools.StorageTool.execute(
        new String[] {"format", "--standalone", "-t", "abcdefghijklmnopqrstuv", "-c", properties.toString()}, System.err);

    Thread server = new Thread(() -> kafka.Kafka.main(new String[] {properties.toString()}));
    server.setDaemon(true);
    server.start();
    return broker;
  }

  public static void main(String[] args) throws Exception {
    Path dir = Files.createTempDirectory("kafka");
    Map<String, Object> config = Map.of("bootstrap.servers", start(dir));

    try (Admin admin = Admin.create(config);
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
      for (String line; (line = in.readLine()) != null; ) {
        try {
          System.out.println("ok " + answer(line.split(" "), admin, producer, consumer));
        } catch (Exception e) {
          System.out.println("error " + e.toString().replace('\n', ' '));
        }
      }
    } finally {
      try (Stream<Path> files = Files.walk(dir)) {
        files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
      }
      Runtime.getRuntime().halt(0);
    }
  }

  private static String answer(
      String[] c, Admin admin, KafkaProducer<byte[], byte[]> producer, KafkaConsumer<byte[], byte[]> consumer) throws Exception {
    switch (c[0]) {
      case "create":
        admin.createTopics(List.of(new NewTopic(c[1], Integer.parseInt(c[2]), (short) 1))).all().get();
        return "";
      case "delete":
        admin.deleteTopics(List.of(c[1])).all().get();
        return "";
      case "send":
        return "" + producer.send(new ProducerRecord<>(c[1], Integer.parseInt(c[2]), null, decoded(c[3]))).get().offset();
      case "fetch":
        return fetch(consumer, new TopicPartition(c[1], Integer.parseInt(c[2])), Long.parseLong(c[3]), Integer.parseInt(c[4]));
      default:
        throw new IllegalArgumentException(c[0]);
    }
  }

  /** Returns records as Lambda writes them into an event; none if there is none. */
  private static String fetch(KafkaConsumer<byte[], byte[]> consumer, TopicPartition at, long offset, int maximum) {
    consumer.assign(List.of(at));
    consumer.seek(at, offset);

    StringBuilder records = new StringBuilder("[");
    int n = 0;
    while (n == 0 && offset < consumer.endOffsets(List.of(at)).get(at)) {
      for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(100))) {
        if (n < maximum) {
          records.append(n++ == 0 ? "" : ",").append(String.format(
              "{\"topic\":\"%s\",\"partition\":%d,\"offset\":%d,\"timestamp\":%d,\"timestampType\":\"CREATE_TIME\",\"key\":%s,\"value\":%s,\"headers\":[]}",
              r.topic(), r.partition(), r.offset(), r.timestamp(), encoded(r.key()), encoded(r.value())));
        }
      }
    }
    return records.append("]").toString();
  }
}
