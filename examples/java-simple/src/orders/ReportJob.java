package orders;

import io.github.elasticjob.ShardingContext; // was org.apache.shardingsphere.elasticjob.api.ShardingContext
import io.github.elasticjob.SimpleJob; // was org.apache.shardingsphere.elasticjob.simple.job.SimpleJob
import java.util.List;

/** A simple job of ElasticJob: only its imports have changed. */
public class ReportJob implements SimpleJob {

    private final OrderRepository repository = new OrderRepository();

    @Override
    public void execute(ShardingContext shardingContext) {
        List<Order> open = repository.findUnshipped(shardingContext.getShardingParameter(), 100);
        System.out.println(String.format("Item: %s | %s: %d open orders | %s", shardingContext.getShardingItem(),
                shardingContext.getShardingParameter(), open.size(), "SIMPLE"));
    }
}
