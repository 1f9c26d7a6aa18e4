package settings

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/reference"
)

// TestNotifyFile: the file of docs/operate.md is accepted, if only its owner may read it. Errors contain no secret.
func TestNotifyFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shown := reference.Block(t, "../../../docs/operate.md", `"jobErrorHandlerType"`)
	good := w.file(t, "good", shown, 0o600)
	s, err := w.settings("--local", "--notify-file", good)
	if err != nil || !s.config.Notify.Operators.Notifies() {
		t.Fatalf("%v, %+v", err, s)
	}
	for path, want := range map[string]string{
		w.file(t, "open", shown, 0o644): "chmod 600",
		w.file(t, "wrong", `{"jobErrorHandlerType":"WEBHOOK","props":{"webhook.secret":"hush"}}`, 0o600): "props.webhook.url",
		w.dir + "/none": "no such file",
	} {
		_, err := w.settings("--local", "--notify-file", path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--notify-file") ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
