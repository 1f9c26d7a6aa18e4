package settings

import (
	"strings"
	"testing"
)

func TestSourcesOfTheDatabasesAddress(t *testing.T) {
	t.Parallel()
	const want = "root:p@ss/hush@tcp(db.example.com:3306)/elasticjob"
	properties := shipped + "event_trace_rdb_driver=com.mysql.jdbc.Driver\nevent_trace_rdb_url=jdbc:mysql://db.example.com:3306/elasticjob?useUnicode=true\n" +
		"event_trace_rdb_username=root\nevent_trace_rdb_password=p@ss/hush\n"
	for name, c := range map[string]struct {
		args []string
		env  map[string]string
		file string
	}{
		"flag":             {args: []string{"--db", want}},
		"variable":         {env: map[string]string{"ELASTICJOB_DB": want}},
		"file":             {file: properties},
		"flag before file": {args: []string{"--db", want}, file: strings.ReplaceAll(properties, "db.example.com", "other")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.env != nil {
				w.env = c.env
			}
			args := append(c.args, "--mesos", "http://h:5050", "--history-days", "7")
			if c.file != "" {
				args = append(c.args, "--config", w.file(t, "properties", c.file, 0o644), "--history-days", "7")
			}
			s, err := w.settings(args...)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(s.config.History.DSN); got != want {
				t.Errorf("got %q", got)
			}
			var out strings.Builder
			if err := s.Show(&out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), "(hidden)@tcp(db.example.com:3306)/elasticjob") ||
				strings.Contains(out.String(), "hush") {
				t.Errorf("shown: %s", out.String())
			}
			if readable := strings.Contains(out.String(),
				"event_trace_rdb_password: chmod 600"); readable != (c.file != "") {
				t.Errorf("warning about the readable password: %t", readable)
			}
		})
	}
}

func TestBadSettingsOfTheHistoryAreRefusedWithoutPassword(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--local", "--db", "root:hush@h:3306/x"}, "user:password@tcp(host:3306)/database"},
		{[]string{"--local", "--db", "root:hush@tcp(h:3306)/"}, "does not name a database"},
		{[]string{"--local", "--db", ""}, "--db is empty"},
		{[]string{"--local", "--history-days", "0"}, "--history-days 0: must be 1 to"},
		{[]string{"--local", "--history-rows", "-1"}, "--history-rows -1: must be 1,000 to"},
		{[]string{"--local", "--history-days", "many"}, "many"},
		{[]string{"--mesos", "http://h:5050", "--history-days", "3"}, "--history-days has no effect without --db"},
	} {
		_, err := newWorld(t).settings(c.args...)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", c.args, err)
		}
	}
}

func TestAnotherDatabaseOfTheOriginalsFileIsNoted(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{
		"event_trace_rdb_url=jdbc:h2:mem:x\nevent_trace_rdb_username=root\nevent_trace_rdb_password=hush2\n",
		"event_trace_rdb_url=jdbc:mysql://h/x\n", "event_trace_rdb_password=hush2\n",
	} {
		w := newWorld(t)
		s, err := w.settings("--config", w.file(t, "properties", shipped+lines, 0o600))
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(s.report.notes, "\n")
		if s.config.History.DSN != "" || !strings.Contains(notes, "event_trace_rdb_") ||
			!strings.Contains(notes, "--db") ||
			strings.Contains(notes, "hush2") {
			t.Errorf("%q: %q, notes: %s", lines, s.config.History.DSN, notes)
		}
	}
}
