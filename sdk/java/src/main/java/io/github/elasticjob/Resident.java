package io.github.elasticjob;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Runs a job on the executor's messages, one run at a time, in the thread that calls serve. */
final class Resident {

    private final JobFunction job;
    private final Pipe pipe;

    private Run current;
    private boolean last;
    private String stopped;

    Resident(JobFunction job, Pipe pipe) {
        this.job = job;
        this.pipe = pipe;
    }

    /** Serves until the stream ends or a signal comes, and the current run has been answered. */
    void serve() throws IOException {
        Signals.handle("TERM", () -> stop("terminated by SIGTERM"));
        try {
            pipe.say(Messages.hello());
        } catch (IOException e) {
            throw new IOException("say hello to the executor: " + e, e);
        }
        Thread reader = new Thread(this::listen, "elasticjob");
        reader.setDaemon(true);
        reader.start();
        for (Run run = await(); run != null; run = await()) {
            String error = answer(run);
            synchronized (this) {
                current = null;
            }
            try {
                pipe.say(Messages.done(run.id, error));
            } catch (IOException e) {
                throw new IOException("tell the executor how the run ended: " + e, e);
            }
        }
    }

    /** Waits for a run; it returns null if none follows. */
    private synchronized Run await() {
        while (current == null && !last) {
            try {
                wait();
            } catch (InterruptedException e) {
                // A thread that the job left has interrupted this one, which waits on.
            }
        }
        return current;
    }

    private String answer(Run run) {
        try {
            run.execute(job, ElasticJobRunner.PROGRESS_MILLIS, (fraction, message) -> pipe.say(Messages.progress(run.id,
                    fraction, message)));
            return "";
        } catch (Throwable e) { // also an OutOfMemoryError: the next run may fit
            String reason = run.endedEarly(e);
            if (reason != null) {
                ElasticJobRunner.log("the run ended early: " + reason);
                return reason;
            }
            e.printStackTrace();
            return Text.explain(e);
        }
    }

    private synchronized void stop(String reason) {
        stopped = reason;
        last = true;
        if (current != null) {
            current.cancel(reason);
        }
        notifyAll();
    }

    private void listen() {
        try (InputStream in = new BufferedInputStream(pipe.orders, 1 << 16)) {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            for (int c = in.read(); c >= 0; c = in.read()) {
                if (c == '\n') {
                    handle(new String(line.toByteArray(), StandardCharsets.UTF_8));
                    line = new ByteArrayOutputStream();
                } else {
                    line.write(c);
                }
            }
        } catch (IOException e) {
            ElasticJobRunner.log("read from the executor: " + e + "; the program ends after the current run");
        } finally {
            synchronized (this) {
                last = true;
                notifyAll();
            }
        }
    }

    /** Handles a message. Others are of a later version of the protocol, and are ignored. */
    private void handle(String line) throws IOException {
        Map<String, Object> message;
        String type;
        String run;
        String reason;
        try {
            message = Json.readObject(line);
            type = Messages.text(message, "type");
            run = Messages.text(message, "run");
            reason = Messages.text(message, "reason");
        } catch (IllegalArgumentException e) {
            return;
        }
        if (run.isEmpty()) {
            return;
        }
        if (type.equals("cancel")) {
            cancel(run, reason);
        } else if (type.equals("run")) {
            String refusal = begin(run, message);
            if (!refusal.isEmpty()) {
                pipe.say(Messages.done(run, refusal));
            }
        }
    }

    private synchronized void cancel(String run, String reason) {
        if (current != null && current.id.equals(run)) {
            current.cancel("cancelled by the executor: " + reason);
        }
    }

    /** Begins a run, or returns why not. */
    private synchronized String begin(String run, Map<String, Object> message) {
        if (current != null) {
            return "it came while run " + current.id + " was under way: a process has one run at a time";
        }
        try {
            current = new Run(run, Messages.shard(message));
        } catch (RuntimeException e) {
            return "read the run: " + e.getMessage();
        }
        if (stopped != null) {
            current.cancel(stopped);
        }
        notifyAll();
        return "";
    }
}
