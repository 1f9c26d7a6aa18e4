package io.github.elasticjob;

import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import java.util.regex.Pattern;

/** Texts of messages. */
final class Text {

    private static final Pattern LIBRARY = Pattern.compile(
            "(java|javax|jdk|sun|com\\.sun|kotlin|scala|groovy|io\\.github\\.elasticjob\\.[A-Z]\\w*)(\\.|\\$|$)");

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
     * Returns an exception and its causes, each with the place in the program's own code that threw it. Standard error has
     * the frames.
     */
    static String explain(Throwable error) {
        StringBuilder text = new StringBuilder();
        Set<Throwable> seen = Collections.newSetFromMap(new IdentityHashMap<>());
        for (Throwable e = error; e != null && seen.add(e); e = e.getCause()) {
            text.append(text.length() == 0 ? "" : "\nCaused by: ").append(e);
            StackTraceElement place = place(e);
            if (place != null) {
                text.append(" (" + place.getFileName() + ":" + place.getLineNumber() + ")");
            }
        }
        return text.toString();
    }

    /** Returns the first frame outside of Java and this library or, without it and without a message, the first one. */
    private static StackTraceElement place(Throwable e) {
        StackTraceElement[] frames = e.getStackTrace();
        for (StackTraceElement frame : frames) {
            if (frame.getFileName() != null && !LIBRARY.matcher(frame.getClassName()).lookingAt()) {
                return frame;
            }
        }
        return e.getMessage() == null && frames.length > 0 ? frames[0] : null;
    }
}
