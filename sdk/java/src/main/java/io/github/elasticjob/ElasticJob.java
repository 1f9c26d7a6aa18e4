package io.github.elasticjob;

/** A job: a {@link SimpleJob} or a {@link DataflowJob}. */
public interface ElasticJob {
}
