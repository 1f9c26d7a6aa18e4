package io.github.elasticjob;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.Map;

/** The variables that an executor sets, and the shard in them or in a message. */
final class Environment {

    private static final String PREFIX = "ELASTICJOB_";
    private static final String CONTEXT = PREFIX + "SHARDING_CONTEXT";
    private static final String PIPE = PREFIX + "PIPE";
    /** The suffix of a variable that names a file with the value. */
    private static final String FILE = "_FILE";

    private final Map<String, String> variables;

    private Environment(Map<String, String> variables) {
        this.variables = variables;
    }

    /** Reads the environment in UTF-8. System.getenv decodes it by the locale, and so loses texts in the locale C. */
    static Environment read() {
        byte[] all;
        try {
            all = Files.readAllBytes(Paths.get("/proc/self/environ"));
        } catch (IOException e) {
            return new Environment(System.getenv());
        }
        Map<String, String> variables = new HashMap<>();
        for (String variable : new String(all, StandardCharsets.UTF_8).split("\0")) {
            int end = variable.indexOf('=');
            if (end > 0) {
                variables.put(variable.substring(0, end), variable.substring(end + 1));
            }
        }
        return new Environment(variables);
    }

    /** Returns the descriptors of the pipe, such as 3,4; null if there is none. */
    String pipe() {
        return variables.get(PIPE);
    }

    /** Reports whether an executor started this process. */
    boolean executed() {
        return variables.containsKey(CONTEXT) || variables.containsKey(CONTEXT + FILE);
    }

    /** Returns the shard of a process that an executor started for one run. */
    ShardingContext shard() {
        Map<String, Object> run = new HashMap<>();
        run.put("context", object(CONTEXT));
        run.put("props", object(PREFIX + "PROPS"));
        run.put("executionId", value(PREFIX + "EXECUTION_ID"));
        run.put("source", value(PREFIX + "EXECUTION_SOURCE"));
        run.put("fireTime", value(PREFIX + "FIRE_TIME"));
        String attempt = value(PREFIX + "ATTEMPT");
        try {
            run.put("attempt", attempt.isEmpty() ? 0.0 : Integer.parseInt(attempt));
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("read " + PREFIX + "ATTEMPT \"" + attempt + "\": it is not a number", e);
        }
        return Messages.shard(run);
    }

    private Map<String, Object> object(String name) {
        String text = value(name);
        try {
            return Json.readObject(text.isEmpty() ? "{}" : text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("read " + name + " \"" + text + "\": " + e.getMessage(), e);
        }
    }

    /** Returns the value of a variable, from its file if it has one; "" if it is not set. */
    private String value(String name) {
        String path = variables.get(name + FILE);
        if (path == null) {
            return variables.getOrDefault(name, "");
        }
        try {
            return new String(Files.readAllBytes(Paths.get(path)), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new IllegalArgumentException("read the file that " + name + FILE + " names: " + e, e);
        }
    }
}
