package launch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/internal/wire"
)

// TestTimeZone: TZ is the zone of the job, unless the job's own variable or the container says otherwise.
func TestTimeZone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		base Environment
		task wire.Task
		want string
	}{
		{nil, wire.Task{}, "UTC"},
		{nil, wire.Task{TimeZone: "Asia/Shanghai"}, "Asia/Shanghai"},
		{nil, wire.Task{Daemon: &wire.Daemon{TimeZone: "Europe/Berlin"}}, "Europe/Berlin"},
		{nil, wire.Task{Daemon: &wire.Daemon{TimeZone: "Local"}}, "UTC"},
		{nil, wire.Task{Daemon: &wire.Daemon{}}, "UTC"},
		{nil, wire.Task{TimeZone: "Asia/Shanghai", Env: map[string]string{"TZ": "Etc/GMT+5"}}, "Etc/GMT+5"},
		{Environment{"TZ": "Asia/Tokyo"}, wire.Task{TimeZone: "Asia/Shanghai"}, "Asia/Tokyo"},
	} {
		base := BaseEnvironment(nil)
		for name, value := range tt.base {
			base[name] = value
		}
		if got := base.Of(tt.task, Places{}, "")["TZ"]; got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.task, got, tt.want)
		}
	}
}

// TestAccountVariables: a process gets the variables of its user that cron gives.
func TestAccountVariables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		as   *isolation.Account
		want map[string]string
	}{
		{&isolation.Account{Name: "root", Home: "/root"},
			map[string]string{"HOME": "/root", "USER": "root", "LOGNAME": "root", "SHELL": shellOf(entryOf("0"))}},
		{&isolation.Account{Name: "batch", UID: 4_000_000_000, Home: "/srv/batch"},
			map[string]string{"HOME": "/srv/batch", "USER": "batch", "LOGNAME": "batch", "SHELL": "/bin/sh"}},
		{&isolation.Account{Name: "dynamic", UID: 4_000_000_000, Home: "/"},
			map[string]string{"HOME": "/tmp/1", "USER": "dynamic", "LOGNAME": "dynamic", "SHELL": "/bin/sh"}},
		{&isolation.Account{Name: "4000000000:5", UID: 4_000_000_000, GID: 5},
			map[string]string{"HOME": "/tmp/1", "USER": "", "LOGNAME": "", "SHELL": "/bin/sh"}},
	} {
		env, got := BaseEnvironment(tt.as).Of(wire.Task{}, Places{Temporary: "/tmp/1"}, ""), map[string]string{}
		for name := range tt.want {
			got[name] = env[name]
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v: %s", tt.as, diff)
		}
	}
	own := BaseEnvironment(nil).Of(wire.Task{Env: map[string]string{"USER": "me", "SHELL": "/bin/bash"}}, Places{}, "")
	if own["USER"] != "me" || own["SHELL"] != "/bin/bash" {
		t.Errorf("the job's own variables: %q, %q", own["USER"], own["SHELL"])
	}
}

func TestShellOf(t *testing.T) {
	t.Parallel()
	for shell, want := range map[string]string{"/bin/bash": "/bin/bash", "/usr/sbin/nologin": "/bin/sh",
		"/bin/false": "/bin/sh", "": "/bin/sh"} {
		if got := shellOf([]string{"a", "x", "1", "1", "", "/", shell}); got != want {
			t.Errorf("%q: %q", shell, got)
		}
	}
}

// TestFencingToken: a process gets the token of its attempt, and none from a scheduler that knows no tokens.
func TestFencingToken(t *testing.T) {
	t.Parallel()
	for token, want := range map[int64]string{0: "", 1_790_000_000_001: "1790000000001"} {
		env := BaseEnvironment(nil).Of(wire.Task{FencingToken: token}, Places{}, "")
		if got, set := env["ELASTICJOB_FENCING_TOKEN"]; got != want || set != (want != "") {
			t.Errorf("%d: %q, %t", token, got, set)
		}
	}
}
