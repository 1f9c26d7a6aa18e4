package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// TestImportReadsFilesInOtherEncodings gives import files as other systems write them.
func TestImportReadsFilesInOtherEncodings(t *testing.T) {
	t.Parallel()
	gbk, utf16 := encoding.Encoding(simplifiedchinese.GBK), unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	const dump = "INSERT INTO xxl_job_info (id,job_desc,executor_handler,trigger_status,schedule_type,schedule_conf) VALUES (1,'每天对账，失败重试','h',1,'CRON','0 0 3 * * ?');\n"
	for name, test := range map[string]struct {
		from, text string
		in         encoding.Encoding
		status     int
		want       string
	}{
		"XML in GBK": {"elasticjob-lite", `<?xml version="1.0" encoding="GBK"?><beans xmlns:job="http://www.dangdang.com/schema/ddframe/job">` +
			`<job:simple id="a" class="x.Y" cron="0 0 3 * * ?" sharding-total-count="1" description="对账"/></beans>`, gbk, 0, "description: 对账"},
		"a crontab in UTF-16":               {"crontab", "# 对账\r\n0 3 * * * /srv/a.sh\r\n", utf16, 0, "description: 对账"},
		"a dump in GBK that declares it":    {"xxl-job", "SET NAMES gbk;\n" + dump, gbk, 0, "每天对账"},
		"a dump in GBK with MySQL's header": {"xxl-job", "/*!40101 SET NAMES gbk */;\n" + dump, gbk, 0, "每天对账"},
		"a dump in GBK that does not":       {"xxl-job", dump, gbk, 2, "iconv -f GB18030 -t UTF-8"},
		"a script behind a mark and a line": {"xxl-job", strings.Replace(strings.Replace(dump, ",schedule_conf", ",schedule_conf,glue_type,glue_source", 1), "?')", "?','GLUE_SHELL','\ufeff\r\n#!/bin/sh\r\nx')", 1), unicode.UTF8, 0, "by bash, as in XXL-JOB, and not by #!/bin/sh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := test.in.NewEncoder().String(test.text)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			status, out, report := newSession(t).run("", "import", test.from, file)
			if status != test.status || !strings.Contains(out+report, test.want) || status != 0 && out != "" {
				t.Errorf("status %d: %s%s", status, out, report)
			}
		})
	}
}

// TestFilesOfCommandsMayBeInUTF16 gives -f and --token-file files as editors of Windows write them.
func TestFilesOfCommandsMayBeInUTF16(t *testing.T) {
	t.Parallel()
	text, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("jobName: 对账\r\n")
	if err != nil {
		t.Fatal(err)
	}
	a, _, _ := newSession(t).cli(text)
	if d, err := a.readDocument("-"); err != nil || d["jobName"] != "对账" {
		t.Errorf("%v, %v", d, err)
	}
	for _, content := range []string{"\ufeffejt_abc\r\n", "\xff\xfea\x00b\x00c\x00\r\x00\n\x00"} {
		file := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if token, err := a.readToken(file); err != nil || !strings.HasSuffix(token, "abc") {
			t.Errorf("%q, %v", token, err)
		}
	}
}
