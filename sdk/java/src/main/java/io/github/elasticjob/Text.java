package io.github.elasticjob;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/** Texts of messages. */
final class Text {

    private Text() {
    }

    /** Returns the beginning of a text: as many whole characters as fit into most bytes of UTF-8. */
    static String cut(String text, int most) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        if (bytes.length <= most) {
            return text;
        }
        int end = most;
        while (end > 0 && (bytes[end] & 0xC0) == 0x80) {
            end--;
        }
        return new String(bytes, 0, end, StandardCharsets.UTF_8);
    }

    /**
     * Returns an exception and its causes, each on one line, without frames: standard error has the stack trace. An
     * exception without a message is followed by the place that threw it.
     */
    static String explain(Throwable error) {
        StringBuilder text = new StringBuilder();
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (Throwable e = error; e != null && seen.add(e); e = e.getCause()) {
            text.append(text.length() == 0 ? "" : "\nCaused by: ").append(e);
            StackTraceElement[] frames = e.getStackTrace();
            if (e.getMessage() == null && frames.length > 0) {
                text.append(" (" + frames[0].getFileName() + ":" + frames[0].getLineNumber() + ")");
            }
        }
        return text.toString();
    }
}
