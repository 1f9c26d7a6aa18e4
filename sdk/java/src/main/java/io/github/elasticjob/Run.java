package io.github.elasticjob;

import java.util.concurrent.CancellationException;

/** One run of a shard in the thread that creates or begins it. */
final class Run {

    final String id;
    final ShardingContext context;
    private Thread thread;

    Run(String id, ShardingContext context) {
        this.id = id;
        this.context = context;
    }

    /** Does the run, and sends its progress meanwhile. It throws what the job throws. */
    void execute(JobFunction job, long progressMillis, Progress.Sender sender) throws Exception {
        Progress progress = new Progress(progressMillis, sender);
        context.reportTo(progress);
        try {
            synchronized (this) {
                context.throwIfCancelled();
                thread = Thread.currentThread();
            }
            job.run(context);
        } finally {
            synchronized (this) {
                thread = null;
                Thread.interrupted(); // the interrupt of a cancellation must not reach the next run
            }
            progress.close();
            System.out.flush();
        }
    }

    /** Returns why the run was cancelled if that is why it ended with an error, as it should; null otherwise. */
    String endedEarly(Throwable error) {
        for (Throwable e = error; context.isCancelled() && e != null; e = e.getCause()) {
            if (e instanceof CancellationException || e instanceof InterruptedException) {
                return context.cancelReason();
            }
        }
        return null;
    }

    /** Cancels the run: the job's thread is interrupted. */
    synchronized void cancel(String reason) {
        context.cancel(reason);
        if (thread != null) {
            thread.interrupt();
        }
    }
}
