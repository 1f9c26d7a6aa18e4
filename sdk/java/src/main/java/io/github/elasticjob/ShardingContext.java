package io.github.elasticjob;

import java.time.Instant;
import java.util.Collections;
import java.util.Map;
import java.util.concurrent.CancellationException;

/** One run of one shard. The first six values are those of ElasticJob. */
public final class ShardingContext {

    private final String jobName;
    private final String taskId;
    private final int shardingTotalCount;
    private final String jobParameter;
    private final int shardingItem;
    private final String shardingParameter;
    private final Execution execution;
    private volatile Progress progress;
    private volatile String cancelReason;

    /**
     * Creates a context for a test of a job. Its progress does nothing.
     *
     * @param jobName the job's name
     * @param taskId the id of the attempt
     * @param shardingTotalCount the number of shards
     * @param jobParameter the parameter of all shards
     * @param shardingItem the number of the shard, from 0
     * @param shardingParameter the shard's own parameter; null or empty if it has none
     */
    public ShardingContext(String jobName, String taskId, int shardingTotalCount, String jobParameter, int shardingItem,
            String shardingParameter) {
        this(jobName, taskId, shardingTotalCount, jobParameter, shardingItem, shardingParameter,
                new Execution("", null, "TRIGGER", 1, Collections.<String, String>emptyMap()));
    }

    ShardingContext(String jobName, String taskId, int shardingTotalCount, String jobParameter, int shardingItem,
            String shardingParameter, Execution execution) {
        this.jobName = jobName;
        this.taskId = taskId;
        this.shardingTotalCount = shardingTotalCount;
        this.jobParameter = jobParameter;
        this.shardingItem = shardingItem;
        this.shardingParameter = shardingParameter == null || shardingParameter.isEmpty() ? null : shardingParameter;
        this.execution = execution;
    }

    /** @return the job's name; a program that serves several jobs of its app distinguishes them by it */
    public String getJobName() {
        return jobName;
    }

    /** @return the id of the attempt; a daemon's shard keeps it across runs */
    public String getTaskId() {
        return taskId;
    }

    /** @return the number of shards */
    public int getShardingTotalCount() {
        return shardingTotalCount;
    }

    /** @return the parameter of all shards */
    public String getJobParameter() {
        return jobParameter;
    }

    /** @return the number of the shard, from 0 to {@link #getShardingTotalCount}-1 */
    public int getShardingItem() {
        return shardingItem;
    }

    /** @return the shard's own parameter, of the job's shardingItemParameters; null if none, as in ElasticJob */
    public String getShardingParameter() {
        return shardingParameter;
    }

    /** @return the id of the execution, the same for all its shards and attempts */
    public String getExecutionId() {
        return execution.id;
    }

    /** @return the time of the fire, the same for all shards and attempts of a run; null in tests of jobs */
    public Instant getFireTime() {
        return execution.fireTime;
    }

    /** @return NORMAL_TRIGGER (the job's cron), TRIGGER, MISFIRE or FAILOVER */
    public String getSource() {
        return execution.source;
    }

    /** @return from 1; a higher attempt repeats one that failed or was lost */
    public int getAttempt() {
        return execution.attempt;
    }

    /** @return the job's own properties and those of the family streaming. */
    public Map<String, String> getProps() {
        return execution.props;
    }

    /**
     * Reports how far the run has come. It may be called in a loop and by several threads: of the calls within a short
     * interval only the last is sent. It never blocks and never fails. After the end of the run it does nothing.
     *
     * @param fraction from 0 to 1
     * @param message a text, which is cut after 200 bytes
     */
    public void progress(double fraction, String message) {
        Progress to = progress;
        if (to != null) {
            to.set(fraction, message);
        }
    }

    /** @return whether the run must end: it was killed, or takes too long. Its thread has then been interrupted too */
    public boolean isCancelled() {
        return cancelReason != null;
    }

    /** Throws a {@link CancellationException} with the reason if the run must end. */
    public void throwIfCancelled() {
        if (cancelReason != null) {
            throw new CancellationException(cancelReason);
        }
    }

    /** Returns why the run was cancelled; null if it was not. */
    String cancelReason() {
        return cancelReason;
    }

    void cancel(String reason) {
        if (cancelReason == null) {
            cancelReason = reason;
        }
    }

    void reportTo(Progress to) {
        progress = to;
    }

    @Override
    public String toString() {
        return "ShardingContext(jobName=" + jobName + ", taskId=" + taskId + ", shardingTotalCount="
                + shardingTotalCount + ", jobParameter=" + jobParameter + ", shardingItem=" + shardingItem
                + ", shardingParameter=" + shardingParameter + ")";
    }

    /** What ElasticJob's context does not have. */
    static final class Execution {
        private final String id;
        private final Instant fireTime;
        private final String source;
        private final int attempt;
        private final Map<String, String> props;

        Execution(String id, Instant fireTime, String source, int attempt, Map<String, String> props) {
            this.id = id;
            this.fireTime = fireTime;
            this.source = source;
            this.attempt = attempt;
            this.props = Collections.unmodifiableMap(props);
        }
    }
}
