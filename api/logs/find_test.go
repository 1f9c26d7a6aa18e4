package logs_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/api/logs"
)

// TestFind: the matches do not depend on where the pieces end.
func TestFind(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, c := range map[string]struct {
		text, wanted string
		limit        int
		want         []logs.Match
		next         int // -1 stands for the end of the text
	}{
		"none":            {"one\ntwo\n", "three", 9, nil, -1},
		"empty":           {"", "a", 9, nil, -1},
		"any case":        {"no\nAn ERROR here\r\nerrOR\n", "Error", 9, []logs.Match{{3, 6, "An ERROR here"}, {18, 18, "errOR"}}, -1},
		"once in a line":  {"aaa aa\na", "A", 9, []logs.Match{{0, 0, "aaa aa"}, {7, 7, "a"}}, -1},
		"letters":         {"ÄRGER\närger\nЖук", "äRGER", 9, []logs.Match{{0, 0, "ÄRGER"}, {7, 7, "ärger"}}, -1},
		"other widths":    {"İstanbul ȺK\n", "stanbul", 9, []logs.Match{{0, 2, "İstanbul ȺK"}}, -1},
		"no UTF-8":        {"\xff\xfeerr\xc3\n", "ERR", 9, []logs.Match{{0, 2, "\uFFFD\uFFFDerr\uFFFD"}}, -1},
		"limit":           {"a1\nb\na2\na3\n", "a", 2, []logs.Match{{0, 0, "a1"}, {5, 5, "a2"}}, 8},
		"limit at end":    {"a1\nb\na2", "a", 2, []logs.Match{{0, 0, "a1"}, {5, 5, "a2"}}, -1},
		"no line's end":   {"b\nxx a", "a", 9, []logs.Match{{2, 5, "xx a"}}, -1},
		"in a long line":  {"b\n" + long + "NEEDLE" + long + "NEEDLE\nneedle", "needle", 9, []logs.Match{{2, 2 + 1<<20, long[:100] + "NEEDLE" + long[:394]}, {2*(1<<20) + 15, 2*(1<<20) + 15, "needle"}}, -1},
		"end of a long":   {long + "needle", "needle", 9, []logs.Match{{0, 1 << 20, long[:494] + "needle"}}, -1},
		"begin of a long": {"needle" + long, "needle", 9, []logs.Match{{0, 0, "needle" + long[:494]}}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.next < 0 {
				c.next = len(c.text)
			}
			for _, size := range []int{1, 2, 3, 7, 1000, 64 << 10, len(c.text) + 1} {
				if size < 1000 && len(c.text) > 10_000 {
					continue
				}
				got, next := logs.Find(c.text, c.wanted, c.limit, size)
				if diff := cmp.Diff(c.want, got); diff != "" || int(next) != c.next && c.next < len(c.text) {
					t.Errorf("pieces of %d, next %d (%d): %s", size, next, c.next, diff)
				}
			}
		})
	}
}

// TestFindAgreesWithEachLine: a search finds the same lines as a comparison line by line, wherever lines and pieces
// end.
func TestFindAgreesWithEachLine(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "B", "ä", "Ä", "\n", "ab", "\xff", strings.Repeat("z", 700), "\r\n"}
	for range 300 {
		var b strings.Builder
		for range random.IntN(60) {
			b.WriteString(words[random.IntN(len(words))])
		}
		text, wanted := b.String(), words[random.IntN(3)]+words[random.IntN(4)]
		if !utf8.ValidString(wanted) {
			continue
		}
		var want []string
		offset := 0
		for _, line := range strings.SplitAfter(text, "\n") {
			lower := strings.ToLower(line)
			if strings.Contains(strings.ToValidUTF8(lower, "?"), strings.ToLower(wanted)) {
				want = append(want, fmt.Sprint(offset))
			}
			offset += len(line)
		}
		found, _ := logs.Find(text, wanted, 1000, 1+random.IntN(900))
		var got []string
		for _, m := range found {
			got = append(got, fmt.Sprint(m.Offset))
			if len([]rune(m.Line)) > 500 || strings.ContainsAny(m.Line, "\n") {
				t.Errorf("the line %q", m.Line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q in %q: %s", wanted, text, diff)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	text := strings.Repeat(strings.Repeat("lorem ipsum dolor ", 6)+"\n", 600_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if found, _ := logs.Find(text, "nothing there", 100, 64<<10); len(found) > 0 {
			b.Fatal(found)
		}
	}
}
