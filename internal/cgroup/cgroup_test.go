package cgroup

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// files returns a root directory with these files.
func files(content map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range content {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

const (
	mount2 = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
	mount1 = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		want  Limits
	}{
		"nothing": {nil, Limits{}},
		"version 2": {map[string]string{"proc/self/cgroup": "0::/a/b\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/a/b/memory.max": "536870912\n", "sys/fs/cgroup/a/b/cpu.max": "150000 100000\n"},
			Limits{512 << 20, 1.5}},
		"version 2, of a parent": {map[string]string{"proc/self/cgroup": "0::/a/b/c\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/a/b/c/memory.max": "max\n", "sys/fs/cgroup/a/b/c/cpu.max": "max 100000\n",
			"sys/fs/cgroup/a/b/memory.max": "1073741824\n", "sys/fs/cgroup/a/memory.max": "536870912\n",
			"sys/fs/cgroup/a/cpu.max": "50000 100000\n"}, Limits{512 << 20, 0.5}},
		"version 2, in a container": {map[string]string{"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/memory.max": "536870912\n", "sys/fs/cgroup/cpu.max": "max 100000\n"},
			Limits{512 << 20, 0}},
		"version 1": {map[string]string{"proc/self/cgroup": "4:memory:/a\n1:cpu,cpuacct:/a\n0::/\n",
			"proc/self/mountinfo":                               mount1,
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":      "536870912\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":        "9223372036854771712\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us":      "200000\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us":     "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":        "-1\n",
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us":       "100000\n",
			"sys/fs/cgroup/cpu,cpuacct/other/cpu.cfs_quota_us":  "1\n",
			"sys/fs/cgroup/cpu,cpuacct/other/cpu.cfs_period_us": "1\n"}, Limits{512 << 20, 2}},
		"version 1, of a parent": {map[string]string{"proc/self/cgroup": "4:memory:/a/b\n", "proc/self/mountinfo": mount1,
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "1048576\n"}, Limits{1 << 20, 0}},
		"version 1, in a container": {map[string]string{"proc/self/cgroup": "4:memory:/docker/x\n",
			"proc/self/mountinfo":                        "35 31 0:32 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n"}, Limits{512 << 20, 0}},
		"another path than is mounted": {map[string]string{"proc/self/cgroup": "0::/../x\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/memory.max": "536870912\n"}, Limits{512 << 20, 0}},
		"no numbers": {map[string]string{"proc/self/cgroup": "0::/\nx\n", "proc/self/mountinfo": mount2 + "y\n",
			"sys/fs/cgroup/memory.max": "x\n", "sys/fs/cgroup/cpu.max": "0 0\n"}, Limits{}},
	} {
		if diff := cmp.Diff(tt.want, LimitsOf(files(tt.files))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOOMKills(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		file  string
		count int64
	}{
		"none": {nil, "", 0},
		"version 2": {map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": mount2,
			"sys/fs/cgroup/a/memory.events": "low 0\nmax 7\noom 2\noom_kill 3\noom_group_kill 0\n"},
			"sys/fs/cgroup/a/memory.events", 3},
		"version 2, without the controller": {map[string]string{"proc/self/cgroup": "0::/a/elasticjob-7\n",
			"proc/self/mountinfo": mount2, "sys/fs/cgroup/a/memory.events": "oom_kill 1\n"},
			"sys/fs/cgroup/a/memory.events", 1},
		"version 1": {map[string]string{"proc/self/cgroup": "4:memory:/a\n", "proc/self/mountinfo": mount1,
			"sys/fs/cgroup/memory/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"},
			"sys/fs/cgroup/memory/a/memory.oom_control", 5},
		"version 1 of an old kernel": {map[string]string{"proc/self/cgroup": "4:memory:/\n", "proc/self/mountinfo": mount1,
			"sys/fs/cgroup/memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n"}, "", 0},
	} {
		root := files(tt.files)
		file := EventsFile(root)
		var count int64
		if file != "" {
			count, _ = OOMKills(root[file].Data)
		}
		if file != tt.file || count != tt.count {
			t.Errorf("%s: %q, %d", name, file, count)
		}
	}
}
