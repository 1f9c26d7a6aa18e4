package io.github.elasticjob;

/** A job with one step that may throw checked exceptions, for lambdas and method references. */
@FunctionalInterface
public interface JobFunction {

    /**
     * Does the work of one run of a shard.
     *
     * @param context the shard and its run
     * @throws Exception if the run failed
     */
    void run(ShardingContext context) throws Exception;
}
