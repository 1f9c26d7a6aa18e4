package database

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/test/eventually"
)

// TestLacks checks which registries a server accepts that remembers another position.
func TestLacks(t *testing.T) {
	t.Parallel()
	remembered := position{"l", 5, "h", 100}
	for name, test := range map[string]struct {
		found position
		lacks string
	}{
		"the same":         {remembered, ""},
		"later":            {position{"l", 6, "i", 101}, ""},
		"commits are gone": {position{"l", 5, "h", 99}, "change 99 of term 5"},
		"terms are gone":   {position{"l", 4, "g", 120}, "its term 4"},
		"another term 5":   {position{"l", 5, "x", 120}, "its term 5"},
		"another registry": {position{"m", 1, "x", 1}, ""},
		"not prepared yet": {position{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.found.lacks(remembered); test.lacks == "" && got != "" ||
				!strings.Contains(got, test.lacks) {
				t.Errorf("it lacks %q, want %q", got, test.lacks)
			}
		})
	}
}

// TestMemory checks the content of the memory's file, and the handling of an unreadable one.
func TestMemory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seen.json")
	for content, bad := range map[string]bool{"": false, "{": true, `{"term":1}`: true,
		`{"lineage":"l","term":1}`: false} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openMemory(file); bad != (err != nil) ||
			bad && !strings.Contains(err.Error(), "remove that file") {
			t.Errorf("%q: %v", content, err)
		}
	}
	file = filepath.Join(t.TempDir(), "none yet")
	m, err := openMemory(file)
	if err != nil {
		t.Fatal(err)
	}
	now := position{"l", 2, "h", 10}
	m.recordCommit(now)
	if lacks, _ := m.observe(position{"l", 2, "h", 9}, position{"l", 2, "h", 8}, time.Now(), time.Now()); lacks != "" || m.get() != now {
		t.Errorf("a read that began before a commit: lacks %q, and %+v is remembered", lacks, m.get())
	}
	if err := m.save(); err != nil {
		t.Fatal(err)
	}
	if again, err := openMemory(file); err != nil || again.get() != now {
		t.Errorf("read again: %+v, %v", again.get(), err)
	}
}

// TestWhatIsRemembered checks which of the positions that were read a server remembers: those that a database can't lose
// if it is killed.
func TestWhatIsRemembered(t *testing.T) {
	t.Parallel()
	type read struct {
		after time.Duration // since the one before
		position
	}
	const soon = 200 * time.Millisecond
	at48, at49 := position{"l", 5, "h", 48}, position{"l", 5, "h", 49}
	taken, accepted := position{"l", 6, "i", 50}, position{"m", 5, "h", 49}
	for name, test := range map[string]struct {
		reads []read
		want  position
	}{
		"read once":                   {[]read{{soon, at48}}, position{}},
		"read again soon":             {[]read{{soon, at48}, {soon, at48}}, position{}},
		"read again later":            {[]read{{soon, at48}, {settleTime, at48}}, at48},
		"read often":                  {[]read{{soon, at48}, {soon, at48}, {settleTime - soon, at48}}, at48},
		"the term's next commit":      {[]read{{soon, at48}, {soon, at49}}, at48},
		"many commits of the term":    {[]read{{soon, at48}, {soon, position{"l", 5, "h", 90}}}, position{"l", 5, "h", 89}},
		"another term soon":           {[]read{{soon, at48}, {soon, taken}}, position{}},
		"another term later":          {[]read{{soon, at48}, {settleTime, taken}}, at48},
		"another term, for long":      {[]read{{soon, at48}, {settleTime, taken}, {settleTime, taken}}, taken},
		"the commit was not durable":  {[]read{{soon, at48}, {settleTime, at49}, {soon, at48}, {settleTime, at48}}, at48},
		"the term was not durable":    {[]read{{soon, at48}, {settleTime, taken}, {soon, at49}, {settleTime, at49}}, at49},
		"the lineage was not durable": {[]read{{soon, at48}, {settleTime, accepted}, {soon, at49}, {settleTime, at49}}, at49},
		"accepted":                    {[]read{{soon, at48}, {settleTime, accepted}, {settleTime, accepted}}, accepted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m memory
			now := time.Now()
			for _, r := range test.reads {
				now = now.Add(r.after)
				if lacks, _ := m.observe(r.position, m.get(), now, now); lacks != "" {
					t.Errorf("%+v lacks %q", r.position, lacks)
				}
			}
			if got := m.get(); got != test.want {
				t.Errorf("it remembers %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestLeftLineage checks that a server does not use an abandoned registry again when it returns, even after a restart
// of the server, until a third registry is accepted. A registry that went back does not become valid by further
// commits.
func TestLeftLineage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seen.json")
	m, err := openMemory(file)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	observe := func(s position, want string) {
		t.Helper()
		at = at.Add(settleTime)
		m.observe(s, m.get(), at, at)
		at = at.Add(settleTime)
		if lacks, _ := m.observe(s, m.get(), at, at); want == "" && lacks != "" || !strings.Contains(lacks, want) {
			t.Errorf("%+v lacks %q, want %q", s, lacks, want)
		}
	}
	observe(position{"first", 2, "h", 10}, "")
	observe(position{"second", 3, "i", 9}, "")
	observe(position{"first", 2, "h", 12}, "left")
	if err := m.save(); err != nil {
		t.Fatal(err)
	}
	if m, err = openMemory(file); err != nil {
		t.Fatal(err)
	}
	observe(position{"first", 2, "h", 12}, "left")
	observe(position{"second", 3, "i", 11}, "")
	observe(position{"second", 3, "i", 10}, "change 10 of term 3")
	observe(position{"second", 4, "j", 90}, "change 10 of term 3")
	observe(position{"second", 3, "i", 11}, "")
	observe(position{"first", 4, "j", 90}, "left")
	observe(position{"third", 5, "k", 91}, "")
}

// TestSlowDisk checks that a hanging disk of the data folder delays no commit.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "seen.json")
	if err := syscall.Mkfifo(file+".new", 0o600); err != nil {
		t.Fatal(err)
	}
	r, term := lead(t, Options{DSN: shared.Server(t).Database(t), Seen: file})
	eventually.Works(t, "the file is being written", func() error {
		if r.memory.writing.TryLock() {
			r.memory.writing.Unlock()
			return errors.New("it is not")
		}
		return nil
	})
	commit(t, term, write("/a", "1"))
	if _, leads := r.Leader(); !leads {
		t.Error("it does not lead")
	}
	if _, err := os.ReadFile(file + ".new"); err != nil { // which ends the wait
		t.Fatal(err)
	}
}
