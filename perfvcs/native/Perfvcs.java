import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Map;
import java.util.function.Supplier;

/**
 * A program under test reports its own measurements to perfvcs. One file, for Java 11 and newer.
 *
 * <pre>
 * Tree tree = Perfvcs.measure("parse", text.length(), () -> parse(text)); // or Perfvcs.NO_SIZE
 * Perfvcs.declare("throughput", "op/s", "higher");
 * Perfvcs.record("parse", Perfvcs.NO_SIZE, Map.of("throughput", 1e6));
 * </pre>
 *
 * Where the variable PERFVCS_SAMPLES is not set, nothing is written.
 */
public final class Perfvcs {
    public static final double NO_SIZE = -1;

    private Perfvcs() {}

    /** Calls a function, reports its wall and CPU time in seconds, and returns what it returns. */
    public static <T> T measure(String uid, double size, Supplier<T> work) {
        double cpu = processor();
        long start = System.nanoTime();
        T result = work.get();
        double wall = (System.nanoTime() - start) / 1e9;
        record(uid, size, Map.of("wall", wall, "cpu", processor() - cpu));
        return result;
    }

    /** Reports values that were measured in another way, by metric. */
    public static void record(String uid, double size, Map<String, Double> values) {
        StringBuilder line = new StringBuilder("{\"uid\":").append(quoted(uid));
        if (size >= 0) {
            line.append(",\"size\":").append(size);
        }
        for (Map.Entry<String, Double> value : values.entrySet()) {
            if (!Double.isFinite(value.getValue())) {
                System.err.println("Perfvcs.java: a sample is lost: a value is not finite");
                return;
            }
            line.append(',').append(quoted(value.getKey())).append(':').append(value.getValue());
        }
        append(line.append("}\n").toString());
    }

    /** Says the unit of a metric, and which direction is better: lower, higher or none. */
    public static void declare(String metric, String unit, String better) {
        append("{\"metric\":" + quoted(metric) + ",\"unit\":" + quoted(unit) + ",\"better\":" + quoted(better) + "}\n");
    }

    /** The time of this process on all processors, in seconds. */
    private static double processor() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime() / 1e9;
    }

    /** Appends a line by one write, so that those of several threads and processes do not mix. */
    private static void append(String line) {
        String path = System.getenv("PERFVCS_SAMPLES");
        if (path == null || path.isEmpty()) {
            return;
        }
        ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(StandardCharsets.UTF_8));
        try (FileChannel file =
                FileChannel.open(Path.of(path), StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            file.write(bytes);
        } catch (IOException error) {
            System.err.println("Perfvcs.java: a sample is lost: " + error.getMessage());
        }
    }

    private static String quoted(String text) {
        StringBuilder string = new StringBuilder("\"");
        for (char character : text.toCharArray()) {
            if (character < ' ' || character == '"' || character == '\\') {
                string.append(String.format("\\u%04x", (int) character));
            } else {
                string.append(character);
            }
        }
        return string.append('"').toString();
    }
}
