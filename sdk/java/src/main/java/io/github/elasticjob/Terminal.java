package io.github.elasticjob;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Runs shards for a user at a terminal. */
final class Terminal {

    private static final String USAGE =
            "usage: --item N [--total N] [--param TEXT] [--job-param TEXT] [--prop NAME=VALUE]...\n"
            + "       --all --total N ...\n\n"
            + "Runs this job here, without a scheduler. Ctrl-C cancels the run, a second one ends the program.\n\n"
            + "  --item N           the shard to run, from 0\n"
            + "  --all              run all shards, one after the other\n"
            + "  --total N          how many shards there are (default 1)\n"
            + "  --param TEXT       the shard's own parameter; with --all that of each\n"
            + "  --job-param TEXT   the parameter of all shards\n"
            + "  --prop NAME=VALUE  a property of the job; may be given several times\n\n"
            + "Status: 0 all went well, 1 the job failed, 2 wrong flags.";
    private static final long PROGRESS_MILLIS = 1000;

    private final JobFunction job;
    private final List<String> wrong = new ArrayList<>();
    private final Map<String, String> props = new HashMap<>();
    private Integer item;
    private int total = 1;
    private boolean all;
    private String parameter = "";
    private String jobParameter = "";

    private Run current;
    private boolean stopped;

    Terminal(JobFunction job) {
        this.job = job;
    }

    /** Runs the shards that the arguments name, and returns the exit status. */
    int start(String[] args) {
        for (int i = 0; i < args.length; i++) {
            String[] flag = args[i].split("=", 2);
            if (flag[0].equals("--help")) {
                System.out.println(USAGE);
                return 0;
            } else if (flag[0].equals("--all")) {
                all = true;
            } else if (!flag[0].matches("--(item|total|param|job-param|prop)")) {
                wrong.add("\"" + args[i] + "\" is not a flag");
            } else if (flag.length == 1 && i + 1 == args.length) {
                wrong.add(flag[0] + " needs a value");
            } else {
                set(flag[0], flag.length == 2 ? flag[1] : args[++i]);
            }
        }
        check();
        if (!wrong.isEmpty()) {
            System.err.println(String.join("\n", wrong));
            System.err.println("--help lists the flags; a scheduler's executor would have started it without any");
            return 2;
        }
        Signals.handle("INT", () -> stop("SIGINT", 130));
        Signals.handle("TERM", () -> stop("SIGTERM", 143));
        int status = 0;
        for (int i = all ? 0 : item; i <= (all ? total - 1 : item) && !isStopped(); i++) {
            status = run(i) ? status : 1;
        }
        return status;
    }

    private void set(String flag, String value) {
        try {
            switch (flag) {
                case "--item":
                    item = Integer.valueOf(value);
                    break;
                case "--total":
                    total = Integer.parseInt(value);
                    break;
                case "--param":
                    parameter = value;
                    break;
                case "--job-param":
                    jobParameter = value;
                    break;
                default:
                    if (value.indexOf('=') < 1) {
                        wrong.add("--prop " + value + ": must be NAME=VALUE");
                    } else {
                        props.put(value.substring(0, value.indexOf('=')), value.substring(value.indexOf('=') + 1));
                    }
            }
        } catch (NumberFormatException e) {
            wrong.add(flag + " " + value + ": must be a number");
        }
    }

    private void check() {
        if (total < 1) {
            wrong.add("--total " + total + ": must be 1 or more");
        }
        if (all && item != null) {
            wrong.add("--item and --all: give one of them");
        } else if (!all && item == null && wrong.isEmpty()) {
            wrong.add("give --item N, the shard to run, or --all");
        } else if (item != null && (item < 0 || item >= total)) {
            wrong.add("--item " + item + ": with --total " + total + " there are the shards 0 to " + (total - 1));
        }
    }

    private boolean run(int shard) {
        Instant now = Instant.now();
        String taskId = "job@-@" + shard + "@-@READY@-@local@-@" + now.toEpochMilli();
        Run run = new Run("", new ShardingContext("job", taskId, total, jobParameter, shard, parameter,
                new ShardingContext.Execution("job@" + now, now, "TRIGGER", 1, props)));
        synchronized (this) {
            current = run;
        }
        String who = "shard " + shard + " of " + total + ": ";
        long began = System.nanoTime();
        String end = "finished after ";
        String error = "";
        try {
            run.execute(job, PROGRESS_MILLIS, (fraction, message) -> System.err.println(who + String.format(Locale.ROOT,
                    "%.1f %% ", 100 * fraction) + message));
        } catch (Exception e) {
            e.printStackTrace();
            end = "failed after ";
            error = ": " + Text.explain(e);
        }
        System.err.println(who + end + (System.nanoTime() - began) / 1_000_000 + " ms" + error);
        return error.isEmpty();
    }

    private synchronized boolean isStopped() {
        return stopped;
    }

    private synchronized void stop(String signal, int status) {
        if (stopped) {
            Runtime.getRuntime().halt(status);
        }
        stopped = true;
        if (current != null) {
            current.cancel("terminated by " + signal);
        }
    }
}
