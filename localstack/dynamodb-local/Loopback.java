import java.util.Arrays;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.main.ServerRunner;
import software.amazon.dynamodb.services.local.server.DynamoDBProxyServer;

/**
 * Starts DynamoDB Local, in memory, for this machine alone. Its own main class listens on every interface and has no option against
 * that; here the listener is told otherwise before it opens. Port 0 takes any free one; the endpoint is printed once it answers.
 *
 * <p>With "attached" as the second argument it ends when standard input does, so that it cannot outlive a parent that was killed.
 */
public final class Loopback {
  public static void main(String[] args) throws Exception {
    DynamoDBProxyServer dynamodb =
        ServerRunner.createServerFromCommandLineArgs(new String[] {"-inMemory", "-disableTelemetry"});
    var field = DynamoDBProxyServer.class.getDeclaredField("server");
    field.setAccessible(true);
    var server = (Server) field.get(dynamodb);
    var listener = (ServerConnector) server.getConnectors()[0];
    listener.setHost("127.0.0.1");
    listener.setPort(Integer.parseInt(args[0]));
    try {
      dynamodb.safeStart();
    } catch (Exception e) {
      System.err.println("DynamoDB Local did not start on port " + args[0] + ": " + e.getMessage());
      System.exit(1);
    }
    System.out.println("http://127.0.0.1:" + listener.getLocalPort());
    System.out.flush();
    if (Arrays.asList(args).contains("attached")) {
      System.in.transferTo(java.io.OutputStream.nullOutputStream());
      System.exit(0);
    }
    dynamodb.join();
  }
}
