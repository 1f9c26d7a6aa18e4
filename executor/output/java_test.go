package output

import "testing"

func TestJavaExecutorIsRecognised(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		output string
		want   bool
	}{
		"no libmesos": {`Failed to load native Mesos library from /usr/java/packages/lib:/usr/lib64:/lib64:/lib:/usr/lib
Exception in thread "main" java.lang.UnsatisfiedLinkError: no mesos in java.library.path: /usr/java/packages/lib:/usr/lib
	at java.base/java.lang.ClassLoader.loadLibrary(ClassLoader.java:2458)
	at org.apache.mesos.MesosNativeLibrary.load(MesosNativeLibrary.java:159)
	at org.apache.mesos.MesosExecutorDriver.<clinit>(MesosExecutorDriver.java:45)
	at org.apache.shardingsphere.elasticjob.cloud.executor.JobBootstrap.execute(JobBootstrap.java:52)
	at com.example.Main.main(Main.java:7)`, true},
		"the trace's end only": {`	at org.apache.shardingsphere.elasticjob.cloud.executor.JobBootstrap.execute(JobBootstrap.java:52)
	at com.example.Main.main(Main.java:7)`, true},
		"2.1":                       {`	at com.dangdang.ddframe.job.cloud.executor.JobBootstrap.execute(JobBootstrap.java:39)`, true},
		"3.0.0-alpha":               {`	at org.apache.shardingsphere.elasticjob.cloud.api.JobBootstrap.execute(JobBootstrap.java:39)`, true},
		"libmesos of another build": {`java.lang.UnsatisfiedLinkError: 'void org.apache.mesos.MesosExecutorDriver.initialize()'`, true},
		"no Mesos classes":          {`Exception in thread "main" java.lang.NoClassDefFoundError: org/apache/mesos/Executor`, true},
		"no agent":                  {`E1121 10:00:00.000000 123 exec.cpp:526] Expecting 'MESOS_SLAVE_PID' to be set in the environment`, true},

		"empty":           {"", false},
		"another library": {`java.lang.UnsatisfiedLinkError: no snappyjava in java.library.path`, false},
		"a job's own trace": {`java.lang.IllegalStateException: no rows
	at com.example.Report.run(Report.java:10)`, false},
		"a script that speaks of it": {"syncing org.apache.mesos:mesos:1.11.0 and the docs of JobBootstrap\nerror: disk quota", false},
		"one item without Mesos": {`java.lang.IllegalStateException: no rows
	at com.example.Report.execute(Report.java:10)
	at org.apache.shardingsphere.elasticjob.cloud.executor.facade.CloudJobFacade.x(CloudJobFacade.java:3)
	at org.apache.shardingsphere.elasticjob.cloud.executor.local.LocalTaskExecutor.execute(LocalTaskExecutor.java:58)`,
			false},
	} {
		if got := isJavaExecutor(tt.output); got != tt.want {
			t.Errorf("%s: recognised %v", name, got)
		}
	}
}

// The reason comes first; the output that shows it is kept.
func TestCauseNamesTheJavaExecutor(t *testing.T) {
	t.Parallel()
	const output = "java.lang.UnsatisfiedLinkError: no mesos in java.library.path"
	if got, want := withReason("exit status 1", output), "exit status 1; "+startsJavaExecutor; got != want {
		t.Errorf("cause %q", got)
	}
	if got := withReason("exit status 1", "no rows"); got != "exit status 1" {
		t.Errorf("cause %q", got)
	}
}
