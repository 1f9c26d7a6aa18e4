package io.github.elasticjob;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads JSON, for the messages of the executor: objects become maps, arrays lists, numbers doubles. It throws
 * IllegalArgumentException if a text is not JSON.
 */
final class Json {

    private static final int MAX_DEPTH = 100;

    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** Reads a text, and returns its object. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> readObject(String text) {
        Json json = new Json(text);
        Object value = json.value(0);
        json.skipSpace();
        if (json.at < text.length()) {
            throw json.wrong();
        }
        if (!(value instanceof Map)) {
            throw new IllegalArgumentException("it is not a JSON object");
        }
        return (Map<String, Object>) value;
    }

    /** Returns a text as a string of JSON, in ASCII. */
    static String quote(String value) {
        StringBuilder quoted = new StringBuilder("\"");
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                quoted.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                quoted.append(String.format("\\u%04x", (int) c));
            } else {
                quoted.append(c);
            }
        }
        return quoted.append('"').toString();
    }

    private Object value(int depth) {
        if (depth > MAX_DEPTH) {
            throw new IllegalArgumentException("the JSON is nested too deeply");
        }
        switch (peek()) {
            case '{':
                return object(depth);
            case '[':
                return array(depth);
            case '"':
                return string();
            case 't':
                return literal("true", Boolean.TRUE);
            case 'f':
                return literal("false", Boolean.FALSE);
            case 'n':
                return literal("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> object = new LinkedHashMap<>();
        at++;
        for (boolean more = peek() != '}'; more; more = more('}')) {
            if (peek() != '"') {
                throw wrong();
            }
            String name = string();
            if (peek() != ':') {
                throw wrong();
            }
            at++;
            object.put(name, value(depth + 1));
        }
        at++;
        return object;
    }

    private List<Object> array(int depth) {
        List<Object> array = new ArrayList<>();
        at++;
        for (boolean more = peek() != ']'; more; more = more(']')) {
            array.add(value(depth + 1));
        }
        at++;
        return array;
    }

    /** Skips a comma and returns true, or returns false before the end of an object or array. */
    private boolean more(char end) {
        char c = peek();
        if (c == ',') {
            at++;
        } else if (c != end) {
            throw wrong();
        }
        return c == ',';
    }

    private String string() {
        StringBuilder value = new StringBuilder();
        for (at++; next() != '"'; at++) {
            char c = next();
            if (c < ' ') {
                throw wrong();
            }
            if (c != '\\') {
                value.append(c);
                continue;
            }
            at++;
            int known = "\"\\/bfnrt".indexOf(next());
            if (known >= 0) {
                value.append("\"\\/\b\f\n\r\t".charAt(known));
            } else if (next() == 'u' && at + 5 <= text.length()) {
                try {
                    value.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                } catch (NumberFormatException e) {
                    throw wrong();
                }
                at += 4;
            } else {
                throw wrong();
            }
        }
        at++;
        return value.toString();
    }

    private Object literal(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw wrong();
        }
        at += word.length();
        return value;
    }

    private Double number() {
        int from = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        try {
            return Double.valueOf(text.substring(from, at));
        } catch (NumberFormatException e) {
            at = from;
            throw wrong();
        }
    }

    private void skipSpace() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    /** Returns the first character after white space. */
    private char peek() {
        skipSpace();
        return next();
    }

    private char next() {
        if (at >= text.length()) {
            throw new IllegalArgumentException("the JSON ends too early");
        }
        return text.charAt(at);
    }

    private IllegalArgumentException wrong() {
        return new IllegalArgumentException("it is not JSON at character " + at);
    }
}
