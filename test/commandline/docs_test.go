package commandline_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// otherStatus has the exit status of the commands of docs/cli.md that do not end with 0 when all are typed one after
// the other, and -1 for commands that are not typed.
var otherStatus = map[string]int{
	"elasticjob login --context prod --user ann":      -1, // another server
	"elasticjob app publish -f billing.yaml --check":  6,  // the first lines have published it already
	"elasticjob app delete old-billing --jobs":        4,
	"elasticjob job register -f nightly.yaml --check": 6,
	"elasticjob run kill nightly@20260501T030000Z":    6, // it has ended
}

// TestTheDocumentsCommands types the commands in docs/cli.md, from the beginning to the end.
func TestTheDocumentsCommands(t *testing.T) {
	u := start(t)
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	url := u.serve("echo hello")
	files := map[string]string{"billing.yaml": u.file("billing.yaml",
		"appName: billing\nappURL: "+url+"\nbootstrapScript: bin/start.sh\n")}
	document := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(string(text))
	files["nightly.yaml"] = u.file("nightly.yaml", document[1])
	run := ""
	typed := 0
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			want := otherStatus[line]
			switch {
			case strings.Contains(line, " > "), want < 0:
				continue
			case strings.Contains(line, "jobs/"): // test/commands types them
				continue
			case strings.HasPrefix(line, "elasticjob job register nightly") && run != "":
				want = 6 // it is registered already
			}
			args := regexp.MustCompile(`https://host\.example\.com/billing[^ ]*`).ReplaceAllString(line, url)
			args = strings.ReplaceAll(args, "nightly@20260501T030000Z", run)
			for name, path := range files {
				args = strings.ReplaceAll(args, "-f "+name, "-f "+path)
			}
			got := u.runs("", words(args)[1:]...)
			if typed++; got.status != want {
				t.Errorf("%s: status %d, want %d: %s", line, got.status, want, got.err)
			}
			if run == "" && strings.HasSuffix(line, "--wait") {
				run, _, _ = strings.Cut(got.out, "\n")
			}
		}
	}
	if typed < 35 {
		t.Errorf("only %d commands were typed", typed)
	}
}

// words splits a line as a shell does, without expansion.
func words(line string) (all []string) {
	for _, found := range regexp.MustCompile(`'([^']*)'|\S+`).FindAllStringSubmatch(line, -1) {
		word := found[0]
		if strings.HasPrefix(word, "'") {
			word = found[1]
		}
		all = append(all, word)
	}
	return all
}
