package executor_test

import (
	"strings"
	"testing"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// A JVM gets the job's time zone. The cause of its failure contains its exceptions without their frames, paths without
// the task's folders, and no notices of the JVM.
func TestAJVM(t *testing.T) {
	t.Parallel()
	a := newAgent(t)
	run := func(id, body string) string {
		task := taskOf(id, script(t, `cat >Main.java <<'EOF'
public class Main {
	static void find(int depth) {
		if (depth > 0) { find(depth - 1); return; }
		throw new IllegalStateException("read " + new java.io.File("conf/app.yml").getAbsolutePath(),
			new java.net.ConnectException("Connection refused (10.0.0.7:3306)"));
	}
	public static void main(String[] args) throws Exception { `+body+` }
}
EOF
exec java -XX:TieredStopAtLevel=1 Main.java`))
		task.TimeZone = "Asia/Shanghai"
		task.Env = map[string]string{"JAVA_TOOL_OPTIONS": "-Xmx64m"}
		a.launch(task)
		_, status := a.await(id, mesos.TASK_FAILED)
		return status.Cause
	}
	zone := run("zone", `System.out.println(java.time.ZoneId.systemDefault()); System.exit(3);`)
	if want := "exit status 3; end of stdout:\nAsia/Shanghai"; zone != want {
		t.Errorf("%q, want %q", zone, want)
	}
	trace := run("trace", `find(500);`)
	for _, part := range []string{"java.lang.IllegalStateException: read conf/app.yml (Main.java:4)\n",
		"Caused by: java.net.ConnectException: Connection refused (10.0.0.7:3306)"} {
		if !strings.Contains(trace, part) {
			t.Errorf("no %q in %q", part, trace)
		}
	}
	if strings.Contains(trace, "\tat ") {
		t.Errorf("%q", trace)
	}
}
