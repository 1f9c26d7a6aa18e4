package jobs_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/document"
	"github.com/elasticjob-go/elasticjob/jobs"
)

// propsOf returns properties from pairs of a name and a value.
func propsOf(pairs ...string) document.Texts {
	props := document.Texts{}
	for i := 0; i < len(pairs); i += 2 {
		props[pairs[i]] = document.Text{Value: pairs[i+1]}
	}
	return props
}

// TestLenientJobs checks that Check accepts the result of Lenient for documents that the original ran, and that each
// change has a note.
func TestLenientJobs(t *testing.T) {
	t.Parallel()
	mail := propsOf("email.host", "smtp.example.com", "email.port", "465", "email.username", "u", "email.password",
		"hidden", "email.from", "a@example.com", "email.to", "b@example.com")
	with := func(pairs ...string) document.Texts {
		all := maps.Clone(mail)
		maps.Copy(all, propsOf(pairs...))
		return all
	}
	for name, test := range map[string]struct {
		change, want func(*jobs.Config) // want changes the document to the expected result
		notes        []string
	}{
		"parameters beyond the count": {change: func(c *jobs.Config) { c.ShardingItemParameters = "0=a,7=b,-1=c" },
			notes: []string{"shards that do not exist are ignored: 2"}},
		"trailing commas and blanks": {change: func(c *jobs.Config) { c.ShardingItemParameters = " 0 = a , ,1=b,," },
			notes: []string{"empty entries are ignored: 3"}},
		"a value with =": {change: func(c *jobs.Config) { c.ShardingItemParameters = "0=a=b,1=YQ==,2=" },
			notes: []string{"values that contain a '=' are given to the shards unchanged: 2"}},
		"a shard twice": {change: func(c *jobs.Config) { c.ShardingItemParameters = "0=a,0=b" },
			notes: []string{"of two parameters for a shard, the last one counts: 1"}},
		"an unknown property": {change: func(c *jobs.Config) {
			c.Props = propsOf("script.command.line", "run.sh", "script.shell", "bash", "email.debugging", "x", "own",
				"y")
		}, want: func(c *jobs.Config) { c.Props = propsOf("script.command.line", "run.sh", "own", "y") },
			notes: []string{"props.email.debugging is not known", "props.script.shell is not known"}},
		"incomplete mail settings": {change: func(c *jobs.Config) {
			c.JobErrorHandlerType, c.Props = "EMAIL", propsOf("email.host", "smtp.example.com")
		}, want: func(c *jobs.Config) { c.JobErrorHandlerType = "" },
			notes: []string{"jobErrorHandlerType EMAIL has no effect, and nobody is notified of failed runs: give props.email.port, props.email.username"}},
		"WeChat without an address": {change: func(c *jobs.Config) { c.JobErrorHandlerType = "WECHAT" },
			want: func(c *jobs.Config) { c.JobErrorHandlerType = "" }, notes: []string{"give props.wechat.webhook"}},
		"a wrong address of DingTalk": {change: func(c *jobs.Config) {
			c.JobErrorHandlerType, c.Props = "DINGTALK", propsOf("dingtalk.webhook", "robot", "dingtalk.secret", "")
		}, want: func(c *jobs.Config) { c.JobErrorHandlerType, c.Props = "", document.Texts{} },
			notes: []string{"props.dingtalk.secret is empty", "props.dingtalk.webhook must be a whole http", "give props.dingtalk.webhook"}},
		"mail settings as Java reads them": {change: func(c *jobs.Config) {
			c.JobErrorHandlerType, c.Props = "EMAIL",
				with("email.useSsl", "no", "email.to", "b@example.com; c@example.com")
		}, want: func(c *jobs.Config) {
			c.Props = with("email.useSsl", "false", "email.to", "b@example.com,c@example.com")
		}, notes: []string{"props.email.to must be", "props.email.useSsl must be true or false: it is read as false"}},
		"the manual's spelling of a timeout": {change: func(c *jobs.Config) {
			c.JobErrorHandlerType, c.Props = "WECHAT",
				propsOf("wechat.webhook", "https://example.com/x", "wechat.connectTimeout", "0")
		}, want: func(c *jobs.Config) {
			c.Props = propsOf("wechat.webhook", "https://example.com/x", "wechat.connectTimeoutMilliseconds", "30000")
		}, notes: []string{"is read as wechat.connectTimeoutMilliseconds", "it is read as 30000"}},
		"a handler of a plug-in": {change: func(c *jobs.Config) { c.JobErrorHandlerType, c.JobExecutorServiceHandlerType = "PAGER", "POOL" },
			want:  func(c *jobs.Config) { c.JobErrorHandlerType, c.JobExecutorServiceHandlerType = "", "" },
			notes: []string{`"POOL" is not known here: it has no effect`, `"PAGER" is not known here: failed runs are logged`}},
		"the manual's false": {change: func(c *jobs.Config) { c.JobErrorHandlerType = "false" },
			want: func(c *jobs.Config) { c.JobErrorHandlerType = "" }, notes: []string{`"false" is not known here`}},
		"a zone of Java": {change: func(c *jobs.Config) { c.TimeZone = "GMT+08:00" },
			want: func(c *jobs.Config) { c.TimeZone = "Etc/GMT-8" }, notes: []string{"is read as Etc/GMT-8"}},
		"amounts below the minimum": {change: func(c *jobs.Config) { c.CPUCount = 0 },
			want: func(c *jobs.Config) { c.CPUCount = 0.001 }, notes: []string{"cpuCount 0 is read as 0.001"}},
		"shell syntax in a command that runs without a shell": {change: func(c *jobs.Config) { c.Props = propsOf("script.command.line", `run.sh --re "a b" x;y $HOME`) },
			want:  func(c *jobs.Config) { c.Props = propsOf("script.command.line", `run.sh --re 'a b' 'x;y' '$HOME'`) },
			notes: []string{"passed to the program"}},
		"an HTTP job as the original reads it": {change: func(c *jobs.Config) {
			c.Props = propsOf("http.uri", "http://me:secret@example.com/a", "http.url", "http://example.com/b",
				"http.method", "GET", "http.data", "x", "http.read.timeout.milliseconds", "0")
		}, want: func(c *jobs.Config) {
			c.Props = propsOf("http.uri", "http://example.com/a", "http.method", "GET",
				"http.read.timeout.milliseconds", "86400000")
		}, notes: []string{"it is read as 86400000", "props.http.uri must not hold a user",
			"props.http.url has no effect beside", "props.http.data has no effect with the method GET"}},
		"properties of a program that is no HTTP job": {change: func(c *jobs.Config) { c.Props = propsOf("http.method", "GET", "http.retries", "1") },
			want: func(c *jobs.Config) { c.Props = document.Texts{} }, notes: []string{"props.http.retries is not known", "props.http.method has no effect without http.uri"}},
	} {
		c := stored()
		test.change(&c)
		if bad, _ := c.Check(jobs.CheckOptions{}); len(bad) == 0 {
			t.Errorf("%s: a new registration is accepted", name)
		}
		want := c
		if test.want != nil {
			test.want(&want)
		}
		got, notes := c.Lenient()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if bad, _ := got.Check(jobs.CheckOptions{InForce: &got}); len(bad) > 0 {
			t.Errorf("%s: %v", name, bad)
		}
		for _, part := range test.notes {
			if !strings.Contains(strings.Join(notes, "\n"), part) {
				t.Errorf("%s: no note %q in %q", name, part, notes)
			}
		}
		if len(notes) < len(test.notes) || strings.Contains(strings.Join(notes, "\n"), "secret@") {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}

// TestLenientJobsThatCannotRun checks that Check still refuses a document with which the job cannot run.
func TestLenientJobsThatCannotRun(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*jobs.Config){
		"no shards":                 func(c *jobs.Config) { c.ShardingTotalCount = 0 },
		"a wrong cron":              func(c *jobs.Config) { c.Cron = "hourly" },
		"an unknown zone":           func(c *jobs.Config) { c.TimeZone = "GMT+25" },
		"an item that is no number": func(c *jobs.Config) { c.ShardingItemParameters = "a=b" },
		"an entry without an item":  func(c *jobs.Config) { c.ShardingItemParameters = "0=a,b" },
		"an unknown type":           func(c *jobs.Config) { c.JobExecutionType = "SOMETIMES" },
		"no resources":              func(c *jobs.Config) { c.CPUCount, c.MemoryMB = 0, 0 },
		"an open quote":             func(c *jobs.Config) { c.Props = propsOf("script.command.line", "run.sh 'a") },
		"no method":                 func(c *jobs.Config) { c.Props = propsOf("http.uri", "http://example.com/") },
		"a daemon without cron":     func(c *jobs.Config) { c.JobExecutionType, c.Cron = jobs.Daemon, "" },
	} {
		c := stored()
		change(&c)
		got, _ := c.Lenient()
		if bad, _ := got.Check(jobs.CheckOptions{InForce: &got}); len(bad) == 0 {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestStoredParameters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]map[int]string{
		"":                        {},
		"0=a,1=b":                 {0: "a", 1: "b"},
		" 0 = a ,\n1=b=c ,,9=x, ": {0: "a", 1: "b=c"},
		"0=YQ==,2=":               {0: "YQ==", 2: ""},
		"0=a,0=b,+1=c":            {0: "b", 1: "c"},
		",":                       {},
		"0=a,x":                   nil,
		"x=a":                     nil,
	} {
		c := stored()
		c.ShardingItemParameters = text
		got, _, bad := jobs.StoredParameters(c)
		if diff := cmp.Diff(want, got); diff != "" || (want == nil) != (len(bad) > 0) {
			t.Errorf("%q: %v\n%s", text, bad, diff)
		}
	}
}

// TestUnchangedParametersAreAccepted checks that an update may keep stored parameters that a new job could not have,
// but that it may not change them to others of this kind.
func TestUnchangedParametersAreAccepted(t *testing.T) {
	t.Parallel()
	inForce := stored()
	inForce.ShardingItemParameters = "0=a=b,9=c,"
	changed := inForce
	changed.Cron = "0 0 * * * ?"
	changed.ShardingTotalCount++
	if bad, _ := changed.Check(jobs.CheckOptions{InForce: &inForce}); len(bad) > 0 {
		t.Errorf("unchanged: %v", bad)
	}
	fewer := inForce
	fewer.ShardingTotalCount--
	if bad, _ := fewer.Check(jobs.CheckOptions{InForce: &inForce}); len(bad) == 0 {
		t.Errorf("with fewer shards: accepted")
	}
	changed.ShardingItemParameters = "0=a=c"
	if bad, _ := changed.Check(jobs.CheckOptions{InForce: &inForce}); len(bad) != 1 {
		t.Errorf("changed: %v", bad)
	}
}
