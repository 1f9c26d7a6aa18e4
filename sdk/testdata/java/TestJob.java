import io.github.elasticjob.DataflowJob;
import io.github.elasticjob.ElasticJobRunner;
import io.github.elasticjob.JobFunction;
import io.github.elasticjob.ShardingContext;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Does what its job parameter says, as the job of main_test.go does. */
public final class TestJob {

    private static int runs;

    public static void main(String[] args) throws Exception {
        // In the tests' locale, C, Java would write ? for what is not ASCII.
        System.setErr(new PrintStream(new FileOutputStream(FileDescriptor.err), true, "UTF-8"));
        if (System.getenv("ELASTICJOB_SDK_TEST_JOB_FLOW") != null) {
            ElasticJobRunner.run(new Flow(), args);
        } else if (System.getenv("ELASTICJOB_SDK_TEST_JOB_ONE_RUN") != null) {
            ElasticJobRunner.run(TestJob::run, args);
        } else {
            ElasticJobRunner.runResident(TestJob::run, args);
        }
    }

    private static void run(ShardingContext context) throws Exception {
        runs++;
        String[] words = context.getJobParameter().split(" ", 2);
        String text = words.length == 1 ? "" : words[1];
        switch (words[0]) {
            case "":
                return;
            case "count":
                throw new IllegalStateException("run " + runs + " of process " + new File("/proc/self").getCanonicalFile().getName());
            case "fail":
                throw new IllegalStateException(text);
            case "fail-long":
                throw new IllegalStateException(String.join("", Collections.nCopies(1 << 20, "ü")));
            case "cause":
                throw new IllegalStateException("no connection", new java.net.ConnectException("refused"));
            case "place":
                throw new NullPointerException();
            case "parse":
                Integer.parseInt("x");
                return;
            case "memory":
                long[][] all = new long[1 << 20][];
                for (int i = 0; i < all.length; i++) {
                    all[i] = new long[1 << 20];
                }
                return;
            case "own":
                throw new IllegalStateException("own parameter " + context.getShardingParameter());
            case "show":
                String fire = DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSSX").withZone(ZoneOffset.UTC).format(context.getFireTime());
                String props = new TreeMap<>(context.getProps()).entrySet().stream().map(e -> e.getKey() + ":" + e.getValue()).collect(Collectors.joining(" "));
                throw new IllegalStateException(String.format("%s %d/%d \"%s\" \"%s\" %s %s %s %s %d map[%s]", context.getJobName(),
                        context.getShardingItem(), context.getShardingTotalCount(), String.valueOf(context.getShardingParameter()).replaceAll("^null$", ""), text,
                        context.getTaskId(), context.getExecutionId(), fire, context.getSource(), context.getAttempt(), props));
            case "wait": // until the thread is interrupted
                context.progress(0, "begun");
                await(context);
                return;
            case "ignore":
                context.progress(0, "begun");
                while (!new File(text).exists()) {
                    sleepThrough();
                }
                return;
            case "until":
                context.progress(0, "begun");
                for (int there = 0; there < 20;) {
                    Thread.sleep(5);
                    there += new File(text).exists() ? 1 : 0;
                }
                return;
            case "tell":
                System.err.println("begun");
                if (text.equals("checked")) {
                    Thread.sleep(3_600_000);
                } else if (text.equals("wrapped")) {
                    try {
                        Thread.sleep(3_600_000);
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }
                await(context);
                return;
            case "progress":
                context.progress(0.25, String.join("", Collections.nCopies(1000, "ü")));
                return;
            case "storm":
                for (int i = 0; i < 1_000_000; i++) {
                    context.progress(i / 1e6, "on its way");
                }
                context.progress(1, "all of it");
                return;
            case "print":
                System.out.print("{\"type\":\"done\",\"run\":\"r1\",\"error\":\"forged\"}\nno line feed");
                System.err.println("{\"type\":\"hello\",\"version\":99}");
                return;
            case "child":
                Process child = new ProcessBuilder("sh", "-c", "ls -l /proc/self/fd").redirectErrorStream(true).start();
                throw new IllegalStateException(new BufferedReader(new InputStreamReader(child.getInputStream(),
                        StandardCharsets.UTF_8)).lines().collect(Collectors.joining("\n")));
            default:
                throw new IllegalArgumentException("the test asks for " + words[0]);
        }
    }

    private static void await(ShardingContext context) {
        try {
            Thread.sleep(3_600_000);
        } catch (InterruptedException e) {
            context.throwIfCancelled();
        }
    }

    private static void sleepThrough() {
        try {
            Thread.sleep(5);
        } catch (InterruptedException e) {
            // it ignores its cancellation
        }
    }

    /** Has as many batches as its job parameter says, of which it prints the items. */
    private static final class Flow implements DataflowJob<String> {

        private final List<String> left = new ArrayList<>();

        @Override
        public List<String> fetchData(ShardingContext context) {
            if (left.isEmpty()) {
                left.addAll(Arrays.asList(context.getJobParameter().split(" ")));
            }
            String next = left.remove(0);
            return next.equals("none") ? Collections.emptyList() : next.equals("null") ? null : Arrays.asList(next.split(","));
        }

        @Override
        public void processData(ShardingContext context, List<String> data) {
            System.out.print(data);
            if (data.contains("fail")) {
                throw new IllegalStateException("broken");
            }
        }
    }
}
