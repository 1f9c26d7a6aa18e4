package registrytest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/elasticjob-go/elasticjob/registry"
)

// wantGet expects that Get returns the entry.
func wantGet(t *testing.T, term registry.Term, want registry.Entry) {
	t.Helper()
	// Values are compared as a whole, because a comparison byte by byte takes seconds for a large value.
	if diff := cmp.Diff(want, get(t, term, want.Path), cmp.Comparer(bytes.Equal)); diff != "" {
		t.Fatalf("get %s (-want +got):\n%s", want.Path, diff)
	}
}

func wantAbsent(t *testing.T, term registry.Term, path string) {
	t.Helper()
	_, err := term.Get(t.Context(), path)
	wantError(t, "get "+path, err, registry.ErrNotFound)
}

func wantList(t *testing.T, term registry.Term, path string, want ...registry.Entry) {
	t.Helper()
	if diff := cmp.Diff(want, list(t, term, path), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("list %s (-want +got):\n%s", path, diff)
	}
}

func putGetDelete(t *testing.T, s Store) {
	_, term := s.lead(t)
	wantAbsent(t, term, "/a")
	commit(t, term, put("/a", "one"), registry.Write{Path: "/empty"})
	wantGet(t, term, entry("/a", "one", 0))
	wantGet(t, term, entry("/empty", "", 0))
	commit(t, term, put("/a", "\x00two\xff"))
	wantGet(t, term, entry("/a", "\x00two\xff", 1))
	commit(t, term, del("/a"), del("/never-there"))
	wantAbsent(t, term, "/a")
	wantList(t, term, "/", entry("/empty", "", 0))
}

func conditions(t *testing.T, s Store) {
	_, term := s.lead(t)
	commit(t, term, putIf("/a", "0", registry.Absent()))
	conflict(t, term, "/a", putIf("/a", "x", registry.Absent()))
	conflict(t, term, "/a", putIf("/a", "x", registry.AtVersion(1)))
	conflict(t, term, "/b", putIf("/b", "x", registry.AtVersion(0)))
	conflict(t, term, "/b", delIf("/b", registry.AtVersion(0)))
	commit(t, term, putIf("/a", "1", registry.AtVersion(0)))
	conflict(t, term, "/a", delIf("/a", registry.AtVersion(0)))
	conflict(t, term, "/a", delIf("/a", registry.Absent()))
	wantList(t, term, "/", entry("/a", "1", 1))
	commit(t, term, delIf("/a", registry.AtVersion(1)), delIf("/b", registry.Absent()))
	wantList(t, term, "/")
}

func atomicity(t *testing.T, s Store) {
	_, term := s.lead(t)
	commit(t, term, put("/a", "0"), put("/b", "0"), put("/c", "0"))
	for i := range 3 {
		writes := []registry.Write{put("/a", "x"), del("/b"), put("/new", "x")}
		writes = slices.Insert(writes, i, putIf("/c", "x", registry.AtVersion(7)))
		conflict(t, term, "/c", writes...)
		wantList(t, term, "/", entry("/a", "0", 0), entry("/b", "0", 0), entry("/c", "0", 0))
	}
	commit(t, term, put("/a", "1"), del("/b"), put("/new", "1"), putIf("/c", "1", registry.AtVersion(0)))
	wantList(t, term, "/", entry("/a", "1", 1), entry("/c", "1", 1), entry("/new", "1", 0))
}

func order(t *testing.T, s Store) {
	_, term := s.lead(t)
	commit(t, term,
		putIf("/a", "first", registry.Absent()), putIf("/a", "second", registry.AtVersion(0)),
		put("/b", "x"), del("/b"),
		put("/c", "x"), del("/c"), putIf("/c", "last", registry.Absent()))
	wantList(t, term, "/", entry("/a", "second", 1), entry("/c", "last", 0))
	conflict(t, term, "/a", del("/a"), putIf("/a", "x", registry.AtVersion(1)))
	commit(t, term, put("/parent", "p"), put("/parent/child", "c"))
	wantGet(t, term, entry("/parent", "p", 0))
	wantList(t, term, "/parent", entry("/parent/child", "c", 0))
	commit(t, term, del("/parent/child"), del("/parent"))
	wantAbsent(t, term, "/parent")
}

func versions(t *testing.T, s Store) {
	_, term := s.lead(t)
	for version := range int64(5) {
		commit(t, term, put("/a", "same"), put(fmt.Sprintf("/other-%d", version), ""))
		wantGet(t, term, entry("/a", "same", version))
	}
	commit(t, term, del("/a"))
	commit(t, term, put("/a", "again"))
	wantGet(t, term, entry("/a", "again", 0))
}

func lists(t *testing.T, s Store) {
	_, term := s.lead(t)
	commit(t, term, put("/a", "itself"), put("/a/b", "1"), put("/a/b/c", "2"), put("/a/b-c", "3"), put("/a/bc", "4"),
		put("/a-b", "5"), put("/a-b/c", "6"), put("/ab", "7"), put("/a.b", "8"), put("/a0", "9"),
		put("/z/deep/down", "10"), put("/a/ä", "11"), put("/a/job@-@0@-@READY", "12"))
	wantList(t, term, "/a", entry("/a/b", "1", 0), entry("/a/b-c", "3", 0), entry("/a/b/c", "2", 0),
		entry("/a/bc", "4", 0), entry("/a/job@-@0@-@READY", "12", 0), entry("/a/ä", "11", 0))
	wantList(t, term, "/a/b", entry("/a/b/c", "2", 0))
	wantList(t, term, "/a-b", entry("/a-b/c", "6", 0))
	wantList(t, term, "/z", entry("/z/deep/down", "10", 0))
	wantAbsent(t, term, "/z")
	wantAbsent(t, term, "/z/deep")
	for _, path := range []string{"/a/b/c", "/a/bc", "/nothing", "/a/job", "/z/deep/down"} {
		wantList(t, term, path)
	}
	if got := len(list(t, term, "/")); got != 13 {
		t.Fatalf("the root lists %d entries, want all 13", got)
	}
	commit(t, term, put("/a/b", "new"), del("/a/bc"))
	wantList(t, term, "/a", entry("/a/b", "new", 1), entry("/a/b-c", "3", 0), entry("/a/b/c", "2", 0),
		entry("/a/job@-@0@-@READY", "12", 0), entry("/a/ä", "11", 0))
}

func copies(t *testing.T, s Store) {
	_, term := s.lead(t)
	given := []byte("value")
	commit(t, term, registry.Write{Path: "/a/b", Value: given})
	copy(given, "XXXXX")
	for _, e := range list(t, term, "/a") {
		copy(e.Value, "YYYYY")
	}
	copy(get(t, term, "/a/b").Value, "ZZZZZ")
	wantGet(t, term, entry("/a/b", "value", 0))
}

func limits(t *testing.T, s Store) {
	_, term := s.lead(t)
	err := term.Commit(t.Context(), []registry.Write{put("/small", "x"),
		put("/a", strings.Repeat("x", registry.MaxValue+1))})
	wantError(t, "commit of a large value", err, registry.ErrTooLarge)
	if term.Err() != nil {
		t.Fatalf("a large value ended the term: %v", term.Err())
	}
	wantAbsent(t, term, "/small")
	largest := bytes.Repeat([]byte("v"), registry.MaxValue)
	commit(t, term, registry.Write{Path: "/a", Value: largest})
	wantGet(t, term, registry.Entry{Path: "/a", Value: largest})
}

func paths(t *testing.T, s Store) {
	_, term := s.lead(t)
	for _, bad := range []string{"", "a", "a/b", "//", "//a", "/a/", "/a//b", "/.", "/a/..", "/./a", "/a\x00b",
		"/a\nb", "/\xff", "/" + strings.Repeat("x", 1024)} {
		for _, w := range []registry.Write{put(bad, ""), del(bad)} {
			wantError(t, "commit to "+bad, term.Commit(t.Context(), []registry.Write{put("/good", ""), w}),
				registry.ErrBadPath)
		}
		_, err := term.Get(t.Context(), bad)
		wantError(t, "get "+bad, err, registry.ErrBadPath)
		_, err = term.List(t.Context(), bad)
		wantError(t, "list "+bad, err, registry.ErrBadPath)
	}
	wantError(t, "commit to the root", term.Commit(t.Context(), []registry.Write{put("/", "")}), registry.ErrBadPath)
	wantAbsent(t, term, "/good")
	long := "/" + strings.Repeat("x", 1023)
	commit(t, term, put(long, "v"), put("/...", ""), put("/ä b", ""))
	wantGet(t, term, entry(long, "v", 0))
}

// readers checks that concurrent reads never show a part of a commit, or an older commit than before.
func readers(t *testing.T, s Store) {
	_, term := s.lead(t)
	const entries, commits = 20, 100
	write := func(n int) (writes []registry.Write) {
		for i := range entries {
			writes = append(writes, put(fmt.Sprintf("/r/%02d", i), fmt.Sprint(n)))
		}
		return writes
	}
	commit(t, term, write(0)...)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			last := int64(-1)
			for ctx.Err() == nil {
				found, err := term.List(t.Context(), "/r")
				if err != nil || len(found) != entries {
					t.Errorf("%d entries, error %v", len(found), err)
					return
				}
				for _, e := range found {
					if e.Version != found[0].Version || string(e.Value) != fmt.Sprint(e.Version) || e.Version < last {
						t.Errorf("%s is %q at version %d, the first is at %d, %d was seen before", e.Path, e.Value,
							e.Version, found[0].Version, last)
						return
					}
				}
				last = found[0].Version
				if e, err := term.Get(t.Context(), "/r/00"); err != nil || e.Version < last {
					t.Errorf("get after list: version %d, error %v, want at least %d", e.Version, err, last)
					return
				}
			}
		})
	}
	for n := 1; n <= commits; n++ {
		if err := term.Commit(t.Context(), write(n)); err != nil {
			t.Errorf("commit %d: %v", n, err)
			break
		}
	}
	stop()
	wg.Wait()
}
