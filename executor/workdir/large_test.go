package workdir

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMoveLarge: values move into files if one of them is too long, or if all together are too long.
func TestMoveLarge(t *testing.T) {
	t.Parallel()
	value := func(kib int) string { return strings.Repeat("x", kib<<10) }
	names := []string{"CONTEXT", "PARAMETER", "PROPS"}
	for name, tt := range map[string]struct {
		env   map[string]string
		args  []string
		limit int // in KiB
		moved []string
		want  string // part of the error
	}{
		"all fit":           {map[string]string{"CONTEXT": value(100), "PROPS": value(100)}, nil, 2048, nil, ""},
		"one too long":      {map[string]string{"CONTEXT": value(128), "PROPS": value(100)}, nil, 2048, []string{"CONTEXT"}, ""},
		"together":          {map[string]string{"CONTEXT": value(90), "PARAMETER": value(80), "PROPS": value(100)}, nil, 128, []string{"CONTEXT", "PROPS"}, ""},
		"with own ones":     {map[string]string{"OWN": value(60), "PARAMETER": value(40), "PROPS": value(50)}, nil, 128, []string{"PROPS"}, ""},
		"with arguments":    {map[string]string{"PROPS": value(50)}, []string{"sh", value(90)}, 128, []string{"PROPS"}, ""},
		"own ones too many": {map[string]string{"A": value(60), "B": value(60), "C": value(60), "PROPS": "x"}, nil, 128, nil, "have 180 KiB together, and a process of this agent can get 128 KiB"},
	} {
		sandbox := openSandbox(t)
		pool := New(Options{Sandbox: sandbox, Dir: "tmp", Log: slog.New(slog.DiscardHandler)})
		temporary, release, err := pool.Take("", "")
		if err != nil {
			t.Fatal(err)
		}
		env, before := map[string]string{}, map[string]string{}
		for variable, text := range tt.env {
			env[variable], before[variable] = text, text
		}
		err = pool.moveLarge(env, tt.args, names, temporary, tt.limit<<10)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", name, err)
		}
		var moved []string
		for _, variable := range names {
			path, ok := env[variable+"_FILE"]
			if !ok {
				continue
			}
			moved = append(moved, variable)
			if text, err := os.ReadFile(path); err != nil || string(text) != before[variable] ||
				path != filepath.Join(temporary, variable) || env[variable] != "" {
				t.Errorf("%s: %s: %v", name, variable, err)
			}
		}
		if !slices.Equal(moved, tt.moved) {
			t.Errorf("%s: moved %q, want %q", name, moved, tt.moved)
		}
		release(Keep{})
	}
}
