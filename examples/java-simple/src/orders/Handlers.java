package orders;

import io.github.elasticjob.ShardingContext;
import java.io.IOException;
import java.util.stream.IntStream;

/** A handler of XXL-JOB with the route "sharding broadcast". */
public class Handlers {

    // Before: @XxlJob("remind") public void remind() throws Exception
    public void remind(ShardingContext context) throws Exception {
        int index = context.getShardingItem(); // XxlJobHelper.getShardIndex()
        int total = context.getShardingTotalCount(); // XxlJobHelper.getShardTotal()
        String text = context.getJobParameter(); // XxlJobHelper.getJobParam()
        if (text.isEmpty()) {
            throw new IllegalArgumentException("the job parameter is the text of the reminder"); // handleFail(…); return;
        }
        int[] mine = IntStream.range(0, 12).filter(customer -> customer % total == index).toArray();
        for (int customer : mine) {
            context.throwIfCancelled();
            send(customer, text);
        }
    }

    private void send(int customer, String text) throws IOException {
        System.out.println("to customer " + customer + ": " + text); // XxlJobHelper.log(…)
    }
}
