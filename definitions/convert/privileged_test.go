package convert

import (
	"strings"
	"testing"
)

// TestPrivileged checks that an import has a note about programs that lose their rights if no_new_privs is set.
func TestPrivileged(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"df -h | mail -s disk root":                    "mail: ",
		"/usr/sbin/sendmail -t < /tmp/x":               "sendmail: ",
		"ping -c 1 host && /opt/job":                   "ping: ",
		"(crontab -l; sudo /opt/job) > /tmp/x":         "crontab, sudo: ",
		"x=$(ping -c1 host)":                           "ping: ",
		"/opt/mail/run.sh mail":                        "",
		"echo crontab":                                 "",
		"/opt/pinger; /opt/sudoku":                     "",
		"mysql -e 'update mail set x' && /opt/mail.sh": "",
	} {
		result := Crontab("crontab", []byte("1 2 * * * "+command+"\n"), Options{App: "app", CPUCount: 1, MemoryMB: 1})
		got := ""
		for _, remark := range result.Remarks {
			if strings.Contains(remark.Message, "no_new_privs") {
				got = remark.Message
			}
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", command, got)
		}
	}
}
