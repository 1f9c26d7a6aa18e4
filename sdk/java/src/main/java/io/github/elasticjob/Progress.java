package io.github.elasticjob;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * Sends the latest progress of a run: the first report at once, then at most one per interval, and at the end one that
 * is still unsent. A report replaces an unsent one.
 */
final class Progress {

    /** Where reports go. */
    interface Sender {
        void send(double fraction, String message) throws IOException;
    }

    private static final int MAX_MESSAGE = 200;

    private final long intervalMillis;
    private final Sender sender;
    /** Held while the sender works, which may block. set never acquires it. */
    private final Object sending = new Object();

    private double fraction;
    private String message;
    private boolean unsent;
    private boolean closed;
    private Thread thread;

    Progress(long intervalMillis, Sender sender) {
        this.intervalMillis = intervalMillis;
        this.sender = sender;
    }

    synchronized void set(double newFraction, String newMessage) {
        if (closed) {
            return;
        }
        fraction = Double.isNaN(newFraction) ? 0 : Math.min(Math.max(newFraction, 0), 1);
        message = newMessage;
        if (!unsent) {
            unsent = true;
            notifyAll();
        }
        if (thread == null) {
            thread = new Thread(this::forward, "elasticjob progress");
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** Sends an unsent report. After it returns, nothing is sent. */
    void close() {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        flush();
    }

    private void forward() {
        try {
            while (awaitReport()) {
                flush();
                awaitInterval();
            }
        } catch (InterruptedException e) {
            // Somebody else ends this thread; close sends the last report.
        }
    }

    private synchronized boolean awaitReport() throws InterruptedException {
        while (!unsent && !closed) {
            wait();
        }
        return !closed;
    }

    private synchronized void awaitInterval() throws InterruptedException {
        long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(intervalMillis);
        for (long left = intervalMillis; left > 0 && !closed;
                left = TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime())) {
            wait(left);
        }
    }

    private void flush() {
        synchronized (sending) {
            double newestFraction;
            String newestMessage;
            synchronized (this) {
                if (!unsent) {
                    return;
                }
                unsent = false;
                newestFraction = fraction;
                newestMessage = message;
            }
            try {
                sender.send(newestFraction, Text.cut(newestMessage == null ? "" : newestMessage, MAX_MESSAGE));
            } catch (IOException e) {
                // A closed pipe shows when the run is answered.
            }
        }
    }
}
