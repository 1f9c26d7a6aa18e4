package system

import (
	"regexp"
	"strings"

	"github.com/elasticjob-go/elasticjob/test/buffer"
)

// checkLogs fails the test if the log of one of the machine's servers has an error that no test expects.
func (m *Machine) checkLogs() {
	m.Helper()
	for _, log := range m.logs {
		text := log.String()
		for _, expected := range []*regexp.Regexp{markedGone, fileLost, tlsWrong} {
			text = expected.ReplaceAllString(text, "")
		}
		for _, bad := range []string{"DATA RACE", "panic:", "fatal error:", `"level":"ERROR"`, m.Canary} {
			if at := strings.Index(text, bad); at >= 0 {
				m.Errorf("the server's log contains %q:\n%.6000s", bad, text[at:])
			}
		}
	}
}

// markedGone matches the expected error of an agent of cluster/local that an operator has marked gone.
var markedGone = regexp.MustCompile(`(?m)^.*"level":"ERROR".*the agent has been marked gone.*\n`)

// fileLost matches the expected errors of a server whose registry's file was removed or truncated.
var fileLost = regexp.MustCompile(
	`(?m)^.*"level":"ERROR".*(registry failed|registry lost|the registry can't be used).*\n`)

// tlsWrong matches the expected errors of a server whose certificate cannot be reloaded, or whose use of TLS differs
// from the leader's.
var tlsWrong = regexp.MustCompile(
	`(?m)^.*"level":"ERROR".*(TLS certificate not reloaded|the leader (does not speak|speaks) TLS).*\n`)

// output collects the output of a process.
type output struct{ buffer.Locked }

func (o *output) tail() string {
	text := o.String()
	return text[max(0, len(text)-6000):]
}
