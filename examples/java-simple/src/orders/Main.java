package orders;

import io.github.elasticjob.ElasticJobRunner;
import java.util.Arrays;

/** Has three jobs: the first argument names the one to run. */
public final class Main {

    public static void main(String[] args) {
        String[] rest = Arrays.copyOfRange(args, Math.min(1, args.length), args.length);
        switch (args.length == 0 ? "" : args[0]) {
            case "report":
                ElasticJobRunner.run(new ReportJob(), rest);
                break;
            case "ship":
                ElasticJobRunner.runResident(new ShipJob(), rest);
                break;
            case "remind":
                ElasticJobRunner.run(new Handlers()::remind, rest);
                break;
            default:
                System.err.println("usage: java -jar orders.jar report|ship|remind [--all --total 3]");
                System.exit(2);
        }
    }
}
