package io.github.elasticjob;

import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * The executor's pipe. Java cannot use inherited descriptors, so it opens them once more. Programs that the job starts
 * do not get them, because Java closes all descriptors in them.
 */
final class Pipe {

    private static final String VARIABLE = "ELASTICJOB_PIPE";

    final InputStream orders;
    private final OutputStream answers;

    private Pipe(InputStream orders, OutputStream answers) {
        this.orders = orders;
        this.answers = answers;
    }

    /** Opens the descriptors in a text such as 3,4. */
    static Pipe open(String text) throws IOException {
        String[] ends = text.split(",");
        if (ends.length != 2 || !ends[0].matches("\\d{1,9}") || !ends[1].matches("\\d{1,9}")) {
            throw new IOException(VARIABLE + " is \"" + text + "\", must be two numbers of descriptors: 3,4");
        }
        return new Pipe(new FileInputStream(path(text, ends[0])), new FileOutputStream(path(text, ends[1])));
    }

    private static String path(String text, String descriptor) throws IOException {
        Path path = Paths.get("/proc/self/fd", descriptor);
        String no = VARIABLE + " is \"" + text + "\", and descriptor " + descriptor + " is not a pipe";
        try {
            if (Files.readSymbolicLink(path).toString().startsWith("pipe:")) {
                return path.toString();
            }
        } catch (IOException e) {
            throw new IOException(no + ": " + e, e);
        }
        throw new IOException(no);
    }

    /** Writes a message. */
    synchronized void say(String message) throws IOException {
        answers.write((message + "\n").getBytes(StandardCharsets.UTF_8));
    }
}
