package io.github.elasticjob;

import java.io.IOException;
import java.time.DateTimeException;
import java.util.List;

/**
 * Runs a job in the program's main method:
 *
 * <pre>{@code
 * public static void main(String[] args) {
 *     ElasticJobRunner.run(new MyJob(), args);
 * }
 * }</pre>
 *
 * <p>The program can be used in three ways, and the runner detects which one applies:
 * <ul>
 * <li>An executor starts it, and it runs once and exits. The exit status is the result.</li>
 * <li>With {@link #runResident(ElasticJob, String...)} it stays: each fire of a daemon job is one run in the same JVM,
 * one after the other. What it keeps in memory remains for the next run. A transient job can use it as well.</li>
 * <li>Without an executor it is a command for the terminal, with flags such as {@code --item 0}; {@code --help} lists
 * them.</li>
 * </ul>
 *
 * <p>All methods exit the JVM with System.exit when there is nothing more to run, so they do not return. Statuses: 0
 * success (a resident process: whatever the results of its runs, because they have been reported), 1 a run failed or
 * the executor's pipe cannot be used, 2 wrong flags.
 *
 * <p>At SIGTERM, and if a resident run exceeds the job's timeoutSeconds, the run is cancelled:
 * {@link ShardingContext#isCancelled} returns true, and the thread of the job is interrupted. After the job's
 * killGraceSeconds the process is killed.
 */
public final class ElasticJobRunner {

    /** The executor forwards the last report of each second. */
    static final long PROGRESS_MILLIS = 200;

    private ElasticJobRunner() {
    }

    /**
     * Runs a job once.
     *
     * @param job a {@link SimpleJob} or {@link DataflowJob}
     * @param args the program's arguments; they are read without an executor only
     */
    public static void run(ElasticJob job, String... args) {
        start(function(job), false, args);
    }

    /**
     * Runs a function once.
     *
     * @param job the function
     * @param args the program's arguments; they are read without an executor only
     */
    public static void run(JobFunction job, String... args) {
        start(job, false, args);
    }

    /**
     * Stays, and runs a job at each fire.
     *
     * @param job a {@link SimpleJob} or {@link DataflowJob}
     * @param args the program's arguments; they are read without an executor only
     */
    public static void runResident(ElasticJob job, String... args) {
        start(function(job), true, args);
    }

    /**
     * Stays, and runs a function at each fire.
     *
     * @param job the function
     * @param args the program's arguments; they are read without an executor only
     */
    public static void runResident(JobFunction job, String... args) {
        start(job, true, args);
    }

    static void log(String text) {
        System.err.println("elasticjob: " + text);
    }

    private static void start(JobFunction job, boolean resident, String[] args) {
        int status;
        try {
            status = status(job, resident, args);
        } catch (IOException | IllegalArgumentException | DateTimeException e) {
            log(e.getMessage());
            status = 1;
        }
        System.exit(status);
    }

    private static int status(JobFunction job, boolean resident, String[] args) throws IOException {
        Environment environment = Environment.read();
        Pipe pipe = null;
        if (environment.pipe() != null) {
            try {
                pipe = Pipe.open(environment.pipe());
            } catch (IOException e) {
                if (!environment.executed()) {
                    throw e;
                }
                // A program that starts this one for the executor, such as sudo, has closed the pipe.
                log(e.getMessage() + "; this process is one run, without progress");
            }
        }
        if (pipe == null && !environment.executed()) {
            return new Terminal(job).start(args);
        }
        if (pipe != null && resident) {
            new Resident(job, pipe).serve();
            return 0;
        }
        return once(job, pipe, environment.shard());
    }

    /** Does one run without the executor's messages, and returns the exit status. */
    private static int once(JobFunction job, Pipe pipe, ShardingContext context) {
        Run run = new Run("", context);
        Signals.handle("TERM", () -> run.cancel("terminated by SIGTERM"));
        try {
            run.execute(job, PROGRESS_MILLIS, (fraction, message) -> {
                if (pipe != null) {
                    pipe.say(Messages.progress(null, fraction, message));
                }
            });
            return 0;
        } catch (Throwable e) {
            String reason = run.endedEarly(e);
            if (reason == null) {
                e.printStackTrace();
            } else {
                log("the run ended early: " + reason);
            }
            return 1;
        }
    }

    private static JobFunction function(ElasticJob job) {
        if (job instanceof SimpleJob) {
            return ((SimpleJob) job)::execute;
        }
        if (job instanceof DataflowJob) {
            return context -> flow((DataflowJob<?>) job, context);
        }
        throw new IllegalArgumentException(job + " is neither a SimpleJob nor a DataflowJob");
    }

    private static <T> void flow(DataflowJob<T> job, ShardingContext context) {
        boolean streaming = Boolean.parseBoolean(context.getProps().get("streaming.process"));
        do {
            context.throwIfCancelled();
            List<T> data = job.fetchData(context);
            context.throwIfCancelled();
            if (data == null || data.isEmpty()) {
                return;
            }
            job.processData(context, data);
        } while (streaming);
    }
}
