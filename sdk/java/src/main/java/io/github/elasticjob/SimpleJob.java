package io.github.elasticjob;

/** A job with one step. */
public interface SimpleJob extends ElasticJob {

    /**
     * Does the work of one run of a shard. The run fails if it throws.
     *
     * @param shardingContext the shard and its run
     */
    void execute(ShardingContext shardingContext);
}
