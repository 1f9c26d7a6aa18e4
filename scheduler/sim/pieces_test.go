package sim

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPiecesReadAsTheWhole: what the decoder puts together of pieces is what
// encoding/json reads, version after version, right and wrong.
func TestPiecesReadAsTheWhole(t *testing.T) {
	t.Parallel()
	const set, one, two = `{"job":{"failover":true,"shardingTotalCount":2}}`, `{"i":0,"s":"running","t":"a@-@0","a":1}`, `{"i":1,"s":"waiting","u":"]}\"\\"}`
	t.Run("executions", func(t *testing.T) {
		t.Parallel()
		d := newDecoder()
		for _, value := range []string{
			`{"id":"x","job":"j","made":"2026-03-01T12:00:00Z"}`,
			`{"id":"x","settings":` + set + `,"shards":[` + one + `,` + two + `],"ended":0}`,
			`{"id":"x","settings":` + set + `,"shards":[` + two + `,` + two + `]}`,
			`{"id":"x","settings":` + set + `,"shards":[` + two + `]}`,
			`{"id":"x","shards":[` + two + `,` + one + `],"settings":` + set + `}`,
			`{"id":"x","settings":` + set + `}`, `{"id":"x","shards":[]}`, `{"id":"x","shards":null,"settings":null}`,
			`{"id":"x","shards":[` + one + `],"shards":null}`, `{"id":"x","settings":` + set + `,"settings":{}}`, `{"id":"x","Shards":[` + one + `]}`,
			`{"id":"x","shards":[` + one + ` , ` + two + `]}`, ` {"id":"x"} `, `{}`, `null`, `{"id":"x","shards":[null]}`,
			`{"id":"x","shards":[` + one + `,]}`, `{"id":"x","shards":[` + one + two + `]}`, `{"id":"x","shards":[` + one + `}`, `{"id":"x","shards":[` + one + `]`,
			`{"id":"x","shards":[` + one + `]}}`, `{"id":"x",}`, `{"id":"x""job":"j"}`, `{"id" "x"}`, `{"id":tru}`, `{"id":"x","settings":{]}`, `{"id":"x","settings":{"job":}}`,
			`{"id":7}`, `{"id":"x","shards":[{"i":"no"}]}`, `{"id":"x"`, `{"id":"x`, `{"`, `{`, ``, `[`, `"`, `{"id":"x","shards":[` + one + `]}`,
		} {
			var want record
			wrong := json.Unmarshal([]byte(value), &want)
			got, err := d.record("p", []byte(value))
			if (err != nil) != (wrong != nil) || err != nil && err.Error() != wrong.Error() {
				t.Errorf("%s: %v, want %v", value, err, wrong)
			}
			if wrong == nil && !cmp.Equal(got, want) {
				t.Errorf("%s: %s", value, cmp.Diff(want, got))
			}
		}
	})
	t.Run("chunks", func(t *testing.T) {
		t.Parallel()
		d := newDecoder()
		for _, value := range []string{`[` + one + `,` + two + `]`, `[` + one + `,` + one + `]`, `[` + one + `]`, `[` + two + `,` + one + `]`, `[]`, `null`,
			`[ ` + one + `]`, `[` + one + `,]`, `[,` + one + `]`, `[` + one + `]]`, `[` + one, `[`, `[[` + one + `]]`, `[{"i":}]`, `[7]`, `{}`, ``, `[` + two + `]`} {
			var want []shardRecord
			wrong := json.Unmarshal([]byte(value), &want)
			got, err := d.chunk("p", []byte(value))
			if (err != nil) != (wrong != nil) || wrong == nil && !cmp.Equal(got, want) {
				t.Errorf("%s: %v, %v, want %v, %v", value, got, err, want, wrong)
			}
		}
	})
	t.Run("worlds", func(t *testing.T) {
		t.Parallel()
		read := 0
		for seed := range uint64(20) {
			w := newWorld(Config{Seed: seed + 1, Steps: 150}, newTracer(nil, 0))
			seen := map[string]int64{}
			var look func()
			look = func() {
				for path, e := range w.store.entries {
					if last, ok := seen[path]; ok && last == e.Version {
						continue
					}
					seen[path] = e.Version
					dir, id := splitPath(path)
					switch {
					case dir == pathExecution:
						var want record
						if err := json.Unmarshal(e.Value, &want); err != nil || w.check.execs[id] == nil || !cmp.Equal(w.check.execs[id].record, want) {
							t.Errorf("seed %d, %s: %v, %s", seed+1, path, err, e.Value)
						}
						read++
					case strings.HasPrefix(dir, pathShards+"/"):
						var want []shardRecord
						got, err := w.check.decoder.chunk(path, e.Value)
						if wrong := json.Unmarshal(e.Value, &want); err != nil || wrong != nil || !cmp.Equal(got, want) {
							t.Errorf("seed %d, %s: %v, %v, %s", seed+1, path, err, wrong, e.Value)
						}
						read++
					}
				}
				w.after(50*time.Millisecond, look)
			}
			w.after(0, look)
			w.play()
			if w.failure != nil {
				t.Error(w.failure)
			}
		}
		if read < 1000 {
			t.Errorf("only %d records were looked at", read)
		}
	})
}
