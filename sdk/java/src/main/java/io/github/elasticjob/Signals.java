package io.github.elasticjob;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;

/**
 * Signals of this process. A shutdown hook would not do, because all hooks run at once: those of Spring, for example,
 * would close what a job uses while it still runs. Here they run after it. sun.misc.Signal is in every JDK, but not in
 * the API that the compiler knows of, so it is called by reflection.
 */
final class Signals {

    private Signals() {
    }

    /** Calls an action, in another thread, at each signal of a name such as TERM, if the JVM permits it. */
    static void handle(String name, Runnable action) {
        InvocationHandler handler = (self, method, args) -> {
            if (method.getName().equals("handle")) {
                action.run();
            }
            return null;
        };
        try {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> type = Class.forName("sun.misc.SignalHandler");
            signal.getMethod("handle", signal, type).invoke(null, signal.getConstructor(String.class).newInstance(name),
                    Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
        } catch (ReflectiveOperationException e) {
            // Started with -Xrs, for example: the signal ends the JVM at once.
        }
    }
}
