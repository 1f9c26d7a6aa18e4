package orders;

/** An order of a region. */
final class Order {

    final long id;
    final String region;
    boolean shipped;

    Order(long id, String region) {
        this.id = id;
        this.region = region;
    }

    @Override
    public String toString() {
        return "order " + id + " (" + region + ")";
    }
}
