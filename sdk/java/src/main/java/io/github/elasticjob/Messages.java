package io.github.elasticjob;

import java.time.Instant;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

/** The messages of sdk/protocol.md. */
final class Messages {

    private static final int MAX_ERROR = 4096;

    private Messages() {
    }

    static String hello() {
        return "{\"type\":\"hello\",\"version\":1,\"sdk\":"
                + Json.quote("elasticjob-java, Java " + System.getProperty("java.version")) + "}";
    }

    /** Returns a progress message; run is null in a process that said no hello. */
    static String progress(String run, double fraction, String message) {
        return "{\"type\":\"progress\"," + (run == null ? "" : "\"run\":" + Json.quote(run) + ",") + "\"fraction\":"
                + fraction + ",\"message\":" + Json.quote(message) + "}";
    }

    /** Returns a done message; error is "" if the run succeeded. */
    static String done(String run, String error) {
        return "{\"type\":\"done\",\"run\":" + Json.quote(run)
                + (error.isEmpty() ? "" : ",\"error\":" + Json.quote(Text.cut(error, MAX_ERROR))) + "}";
    }

    /** Returns a field that is a text; "" if it is missing. */
    static String text(Map<String, Object> object, String name) {
        return get(object, name, "", String.class);
    }

    /** Returns the shard of a message of type run. */
    @SuppressWarnings("unchecked")
    static ShardingContext shard(Map<String, Object> run) {
        Map<String, Object> context = get(run, "context", Collections.emptyMap(), Map.class);
        Map<String, String> props = new HashMap<>();
        Map<String, Object> given = get(run, "props", Collections.emptyMap(), Map.class);
        for (String name : given.keySet()) {
            props.put(name, text(given, name));
        }
        String fireTime = text(run, "fireTime");
        return new ShardingContext(text(context, "jobName"), text(context, "taskId"), number(context,
                "shardingTotalCount"), text(context, "jobParameter"), number(context, "shardingItem"),
                text(context, "shardingParameter"),
                new ShardingContext.Execution(text(run, "executionId"), fireTime.isEmpty() ? null : Instant.parse(
                        fireTime), text(run, "source"), number(run, "attempt"), props));
    }

    private static int number(Map<String, Object> object, String name) {
        return get(object, name, 0, Number.class).intValue();
    }

    private static <T> T get(Map<String, Object> object, String name, T otherwise, Class<T> type) {
        Object value = object.get(name);
        if (value == null) {
            return otherwise;
        }
        if (!type.isInstance(value)) {
            throw new IllegalArgumentException(name + " has a value of another type: " + value);
        }
        return type.cast(value);
    }
}
