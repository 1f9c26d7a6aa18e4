package executor

import "testing"

// The cache folder of root's executors keeps its name, so that they find the packages of earlier releases.
func TestCacheFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sandbox string
		user    int
		want    string
	}{
		{"/var/mesos/slaves/S0/frameworks/F/executors/E/runs/R", 0, "/var/mesos/elasticjob-cache"},
		{"/var/mesos/slaves/S0/frameworks/F/executors/E/runs/R", 1000, "/var/mesos/elasticjob-cache-1000"},
		{"/slaves/S0/frameworks/F/executors/E/runs/R", 0, "/elasticjob-cache"},
		{"/mnt/mesos/sandbox", 1000, "/mnt/mesos/sandbox/cache"},
	} {
		if got := cacheFolder(c.sandbox, c.user); got != c.want {
			t.Errorf("%s of user %d: got %s, want %s", c.sandbox, c.user, got, c.want)
		}
	}
}
