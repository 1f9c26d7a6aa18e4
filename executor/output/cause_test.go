package output

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/elasticjob-go/elasticjob/internal/textfile"
)

// A cause shows exceptions without their frames. It shows the end of stderr or, if stderr has only notices, the end of
// stdout, if there is any.
func TestCauseShowsWhatSaysWhy(t *testing.T) {
	t.Parallel()
	frames := strings.Repeat("\tat com.example.jobs.orders.OrderRepository.find(OrderRepository.java:123)\n", 800)
	const notice = "Picked up JAVA_TOOL_OPTIONS: -Xmx64m\nSLF4J: No SLF4J providers were found.\n"
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("错误：无法连接数据库")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ stdout, stderr, want string }{
		"GBK": {"", "loading\n" + gbk + "\n完成\n", "failed; end of stderr:\nloading\n错误：无法连接数据库\n完成"},
		"a trace": {"out\n", "java.lang.Error: a\n" + frames + "Caused by: java.net.ConnectException: refused (10.0.0.7:3306)\n" + frames,
			"failed; end of stderr:\njava.lang.Error: a (OrderRepository.java:123)\n" +
				"Caused by: java.net.ConnectException: refused (10.0.0.7:3306) (OrderRepository.java:123)"},
		"a trace in stdout": {"a.B: x\n" + frames, "", "failed; end of stdout:\na.B: x (OrderRepository.java:123)"},
		"notices": {"ERROR no orders\n", notice,
			"failed; end of stdout:\nERROR no orders"},
		"notices only": {"", notice, "failed; end of stderr:\n" + strings.TrimSpace(notice)},
		"notices and more": {"ERROR no orders\n", notice + "no heap\n",
			"failed; end of stderr:\nno heap"},
		"notices around": {"", "no heap\n" + notice + "2026 WARN  retry Warning: 3\n/a/job.py:3: DeprecationWarning: old\n  old()\nKilled\n",
			"failed; end of stderr:\nno heap\n2026 WARN  retry Warning: 3\nKilled"},
		"exceptions with the name of a warning": {"", "pkg.Warning: no rows\nconnection closed\n",
			"failed; end of stderr:\npkg.Warning: no rows\nconnection closed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newTestOutputs(t, Limits{File: 10 << 20, Tasks: 1, Bytes: 10 << 20, CheckInterval: time.Hour})
			end := o.mustBegin(t, "1")
			o.write(t, "1", "stdout", test.stdout)
			o.write(t, "1", "stderr", test.stderr)
			if got := o.Cause("1", "failed", Mark{}, asUTF8); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			end()
		})
	}
}

func asUTF8(text []byte) string { return textfile.Show(text, "") }

func TestReadable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext\n":               "plain\ttext",
		"\x1b[1;31mred\x1b[0m \x1b=x": "red x",
		"a\x00b\x07c\r\nd":            "abc\nd",
		"bad\xff byte":                "bad\ufffd byte",
		strings.Repeat("ä", 20):       "…" + strings.Repeat("ä", 6),
		"\x1b":                        "",
	} {
		if got := Readable(text, 13); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
