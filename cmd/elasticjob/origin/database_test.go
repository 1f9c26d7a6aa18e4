package origin_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/cmd/elasticjob/origin"
	"github.com/elasticjob-go/elasticjob/definitions"
	"github.com/elasticjob-go/elasticjob/definitions/convert"
	"github.com/elasticjob-go/elasticjob/test/mariadb"
)

var shared mariadb.Shared

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) { goleak.VerifyTestMain(shared.Main(m)) }

// TestRead compares the jobs in a database with those in the dump that fills it.
func TestRead(t *testing.T) {
	t.Parallel()
	server := shared.Server(t)
	for _, test := range []struct {
		file  string
		parts []string
	}{
		{"xxl_2.0.sql", []string{"jobName: billHandler\nappName: orders\ncron: 0 0 3 * * ? *\n", "timeZone: Asia/Shanghai\nenv:\n  XXL_JOB_HANDLER: pausedHandler\ndisabled: true", "newHandler\ndisabled: true"}},
		{"xxl_3.0.sql", []string{"shardingTotalCount: 2", `jobParameter: a\b`, "description: Bills 'of' the day"}},
	} {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			dump, err := os.ReadFile("testdata/" + test.file)
			if err != nil {
				t.Fatal(err)
			}
			dsn := server.Database(t)
			_, name, _ := strings.Cut(dsn, ")/")
			name, _, _ = strings.Cut(name, "?")
			conn, err := server.Root(t).Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			for statement := range strings.SplitSeq("USE "+name+";\n"+string(dump), ";\n") {
				if strings.TrimSpace(statement) == "" {
					continue
				}
				if _, err := conn.ExecContext(t.Context(), statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			options := convert.Options{Now: now}
			tables, others, err := origin.Tables(t.Context(), dsn, convert.XXLJobTableNames, "xxl_job_")
			if err != nil {
				t.Fatal(err)
			}
			fromTables, err := convert.XXLJobTables("db", tables, others, options)
			if err != nil {
				t.Fatal(err)
			}
			fromDump, err := convert.XXLJob("db", dump, options)
			if err != nil {
				t.Fatal(err)
			}
			got, want := text(t, fromTables), text(t, fromDump)
			if got != want {
				t.Errorf("the database gave\n%s\nthe dump\n%s", got, want)
			}
			for _, part := range test.parts {
				if !strings.Contains(got, part) {
					t.Errorf("%q is not in\n%s", part, got)
				}
			}
		})
	}
}

// text returns the definitions and the remarks without their lines and the numbers of rows.
func text(t *testing.T, r *convert.Result) string {
	t.Helper()
	out, err := definitions.Encode(r.Definitions)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []string
	for _, remark := range r.Remarks {
		if remark.Job != "" {
			jobs = append(jobs, remark.Job+": "+remark.Message)
		}
	}
	return string(out) + strings.Join(jobs, "\n")
}

func TestErrorsNameTheDatabaseWithoutThePassword(t *testing.T) {
	t.Parallel()
	_, _, err := origin.Tables(t.Context(), "me:hunter2@tcp(127.0.0.1:1)/xxl", nil, "")
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "127.0.0.1:1/xxl") {
		t.Error(err)
	}
}
