package io.github.elasticjob;

import java.util.List;

/**
 * A job with two steps. If its property {@code streaming.process} is {@code true}, both are repeated until the first
 * returns nothing. After a failure the next attempt gets the same data only if {@link #fetchData} selects unprocessed
 * items.
 *
 * @param <T> the type of an item
 */
public interface DataflowJob<T> extends ElasticJob {

    /**
     * Fetches a batch.
     *
     * @param shardingContext the shard and its run
     * @return the batch; null or an empty list if there is nothing to do
     */
    List<T> fetchData(ShardingContext shardingContext);

    /**
     * Processes a batch.
     *
     * @param shardingContext the shard and its run
     * @param data the batch, never empty
     */
    void processData(ShardingContext shardingContext, List<T> data);
}
