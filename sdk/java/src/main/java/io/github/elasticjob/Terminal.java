package io.github.elasticjob;

import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
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
            + "  --item N            the shard to run, from 0\n"
            + "  --all               run all shards, one after the other\n"
            + "  --total N           how many shards there are (default 1)\n"
            + "  --param TEXT        the shard's own parameter; with --all that of each, or 0=A,1=B\n"
            + "  --item-params LIST  the shards' own parameters, as in a job's shardingItemParameters: 0=A,1=B\n"
            + "  --job-param TEXT    the parameter of all shards\n"
            + "  --prop NAME=VALUE   a property of the job; may be given several times\n\n"
            + "Status: 0 all went well, 1 the job failed, 2 wrong flags.";
    private static final long PROGRESS_MILLIS = 1000;

    private final JobFunction job;
    private final List<String> wrong = new ArrayList<>();
    private final Map<String, String> props = new HashMap<>();
    private Integer item;
    private int total = 1;
    private boolean all;
    private String parameter = "";
    private String itemParameters;
    /** Those that only one shard has; null if all have the same. */
    private Map<Integer, String> parameters;
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
            } else if (!flag[0].matches("--(item|total|param|item-params|job-param|prop)")) {
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
                case "--item-params":
                    itemParameters = value;
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
        if (itemParameters != null && !parameter.isEmpty()) {
            wrong.add("--param and --item-params: give one of them");
        } else if (itemParameters != null) {
            setParameters("--item-params", itemParameters);
            if (parameters == null) {
                wrong.add("--item-params " + itemParameters + ": must be a list of ITEM=TEXT: 0=A,1=B");
            }
        } else if (all) {
            setParameters("--param", parameter);
        }
    }

    /** Sets the parameters of single shards if a text has the form of a job's shardingItemParameters. */
    private void setParameters(String flag, String text) {
        Map<Integer, String> found = new HashMap<>();
        for (String part : text.split(",", -1)) {
            String[] words = part.trim().split("\\s*=\\s*", -1);
            if (words.length != 2 || !words[0].matches("[0-9]{1,9}") || words[1].isEmpty()
                    || found.put(Integer.valueOf(words[0]), words[1]) != null) {
                return;
            }
        }
        parameters = found;
        if (total > 0 && Collections.max(found.keySet()) >= total) {
            wrong.add(flag + " " + text + ": with --total " + total + " there are the shards 0 to " + (total - 1));
        }
    }

    private boolean run(int shard) {
        Instant now = Instant.now();
        String taskId = "job@-@" + shard + "@-@READY@-@local@-@" + now.toEpochMilli();
        String own = parameters == null ? parameter : parameters.getOrDefault(shard, "");
        Run run = new Run("", new ShardingContext("job", taskId, total, jobParameter, shard, own,
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
            String reason = run.endedEarly(e);
            if (reason == null) {
                e.printStackTrace();
            }
            end = reason == null ? "failed after " : "ended early after ";
            error = ": " + (reason == null ? Text.explain(e) : reason);
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
