package orders;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** Stands for a table of a database: 30 orders of three regions. */
final class OrderRepository {

    private static final String[] REGIONS = {"north", "south", "west"};

    private final List<Order> orders = new ArrayList<>();

    OrderRepository() {
        for (int id = 0; id < 30; id++) {
            orders.add(new Order(id, REGIONS[id % REGIONS.length]));
        }
    }

    /** Returns up to limit orders of a region that are not shipped. */
    List<Order> findUnshipped(String region, int limit) {
        return orders.stream().filter(order -> order.region.equals(region) && !order.shipped).limit(limit)
                .collect(Collectors.toList());
    }

    void setShipped(long id) {
        orders.get((int) id).shipped = true;
    }
}
