package orders;

import io.github.elasticjob.DataflowJob; // was org.apache.shardingsphere.elasticjob.dataflow.job.DataflowJob
import io.github.elasticjob.ShardingContext; // was org.apache.shardingsphere.elasticjob.api.ShardingContext
import java.util.List;

/** A dataflow job of ElasticJob, with one new line: it reports its progress. */
public class ShipJob implements DataflowJob<Order> {

    private final OrderRepository repository = new OrderRepository();
    private int shipped;

    @Override
    public List<Order> fetchData(ShardingContext shardingContext) {
        return repository.findUnshipped(shardingContext.getShardingParameter(), 4);
    }

    @Override
    public void processData(ShardingContext shardingContext, List<Order> data) {
        for (Order order : data) {
            repository.setShipped(order.id);
            shipped++;
        }
        System.out.println("Item: " + shardingContext.getShardingItem() + " | shipped: " + data + " | DATAFLOW");
        shardingContext.progress(shipped / 10.0, shipped + " orders shipped");
    }
}
