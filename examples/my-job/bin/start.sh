#!/bin/sh
# The smallest job: says which shard it is, and who asked for it.
echo "$ELASTICJOB_JOB_NAME: shard $ELASTICJOB_SHARDING_ITEM of $ELASTICJOB_SHARDING_TOTAL_COUNT, for the fire of $ELASTICJOB_FIRE_TIME ($ELASTICJOB_EXECUTION_SOURCE)"
