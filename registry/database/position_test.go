package database

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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
	before := readMark{latest: position{"l", 2, "h", 8}}
	if lacks, _ := m.observe(position{"l", 2, "h", 9}, before); lacks != "" || m.get() != now {
		t.Errorf("a read that began before a commit: lacks %q, and %+v is remembered", lacks, m.get())
	}
	if err := m.save(); err != nil {
		t.Fatal(err)
	}
	if again, err := openMemory(file); err != nil || again.get() != now {
		t.Errorf("read again: %+v, %v", again.get(), err)
	}
}

// TestWhatIsRemembered checks which of the positions that were read a server remembers: those that a database can't
// lose if it is killed.
func TestWhatIsRemembered(t *testing.T) {
	t.Parallel()
	at48, at49 := position{"l", 5, "h", 48}, position{"l", 5, "h", 49}
	taken, accepted := position{"l", 6, "i", 50}, position{"m", 5, "h", 49}
	type steps []any
	write := "a write, if one is needed"
	late := "a read that is sent now is answered after the next step"
	for name, test := range map[string]struct {
		steps steps
		want  position
	}{
		"read once":                {steps{at48}, position{}},
		"read twice":               {steps{at48, at48}, position{}},
		"a write in between":       {steps{at48, at48, write, at48}, at48},
		"the read was sent before": {steps{at48, at48, late, write, at48}, position{}},
		"no write is needed yet":   {steps{at48, write, at48}, position{}},
		"the term's next commit":   {steps{at48, at49}, at48},
		"commits of the term":      {steps{at48, position{"l", 5, "h", 90}}, position{"l", 5, "h", 89}},
		"another term":             {steps{at48, taken}, position{}},
		"another term, written":    {steps{at48, taken, taken, write, taken}, taken},
		"a commit is lost":         {steps{at48, at49, at49, write, at48, at48, write, at48}, at48},
		"a commit is made again":   {steps{at49, at49, write, at48, at49}, at48},
		"a term is lost":           {steps{at48, taken, taken, at49, at49, write, at49}, at49},
		"a lineage is lost":        {steps{at48, accepted, accepted, at49, at49, write, at49}, at49},
		"accepted":                 {steps{at48, accepted, accepted, write, accepted}, accepted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m memory
			var earlier *readMark // of the read that is answered late
			for _, step := range test.steps {
				switch {
				case step == late:
					mark := m.beginRead()
					earlier = &mark
					continue
				case step == write:
					if s, needed := m.unprovenPosition(); needed {
						m.recordWrite(s)
					}
					continue
				}
				mark := m.beginRead()
				if earlier != nil {
					mark = *earlier
				}
				if lacks, _ := m.observe(step.(position), mark); lacks != "" {
					t.Errorf("%+v lacks %q", step, lacks)
				}
			}
			if got := m.get(); got != test.want {
				t.Errorf("it remembers %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestAStaleReadAfterANewTerm checks that one read that lacks something does not condemn the registry for good,
// although the term in which it is complete was only read, and not remembered yet.
func TestAStaleReadAfterANewTerm(t *testing.T) {
	t.Parallel()
	var m memory
	m.recordCommit(position{"l", 5, "h", 48})
	for _, step := range []struct {
		position
		lacks bool
	}{
		{position{"l", 6, "i", 49}, false}, {position{"l", 5, "h", 47}, true}, {position{"l", 6, "j", 70}, true},
		{position{"l", 6, "i", 49}, false}, {position{"l", 6, "i", 50}, false},
	} {
		if lacks, _ := m.observe(step.position, m.beginRead()); step.lacks != (lacks != "") {
			t.Errorf("%+v lacks %q", step.position, lacks)
		}
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
	observe := func(s position, want string) {
		t.Helper()
		for range 2 {
			m.observe(s, m.beginRead())
		}
		m.recordWrite(s)
		if lacks, _ := m.observe(s, m.beginRead()); want == "" && lacks != "" || !strings.Contains(lacks, want) {
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
