package logging

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestAPartIsQuieter checks that INFO records of the cluster of --local are logged at DEBUG, and that warnings and
// errors keep their level.
func TestAPartIsQuieter(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]string{
		slog.LevelInfo:  "WARN warned,ERROR failed",
		slog.LevelDebug: "DEBUG detail,DEBUG started,WARN warned,ERROR failed",
	} {
		var text bytes.Buffer
		log := Quieter(slog.New(newHandler("text", &text, level))).With("part", "agent").WithGroup("g")
		log.Debug("detail")
		log.Info("started")
		log.Warn("warned")
		log.Error("failed")
		var got []string
		for line := range strings.Lines(text.String()) {
			fields := strings.Fields(line)
			got = append(got, strings.TrimPrefix(fields[1], "level=")+" "+strings.TrimPrefix(fields[2], "msg="))
			if !strings.Contains(line, "part=agent") {
				t.Errorf("an attribute is lost: %s", line)
			}
		}
		if strings.Join(got, ",") != want {
			t.Errorf("from %s: %q, want %q", level, got, want)
		}
	}
}

// TestDurationsAreReadable checks that both formats of the log write durations with their unit.
func TestDurationsAreReadable(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"in":"10s"`, "text": "in=10s"} {
		var out strings.Builder
		slog.New(newHandler(format, &out, slog.LevelInfo)).Info("again", "in", 10*time.Second)
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}
