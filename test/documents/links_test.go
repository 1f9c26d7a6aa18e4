package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/elasticjob-go/elasticjob/test/reference"
)

var (
	code    = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linked  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// TestLinksLeadSomewhere: links between documents of the repository, and to their headings, have a target.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, from := range reference.Documents(t, root) {
		text, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(found[1], "://") || strings.HasPrefix(found[1], "mailto:") {
				continue
			}
			path, anchor, _ := strings.Cut(found[1], "#")
			target := from
			if path != "" {
				target = filepath.Join(filepath.Dir(from), path)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", from, found[1])
			} else if anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s: the link to %s leads to no heading of %s", from, found[1], target)
			}
		}
	}
}

// anchors returns the names of the headings of a document in links.
func anchors(t *testing.T, path string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	fenced := regexp.MustCompile("(?ms)^```.*?^```$")
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		names = append(names, anchorOf(found[1]))
	}
	return names
}

// anchorOf returns the name of a heading in links on GitHub: lower case, hyphens for spaces, no other punctuation.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, linked.ReplaceAllString(strings.TrimSpace(heading), "$1"))
}

func TestAnchorOf(t *testing.T) {
	t.Parallel()
	for heading, want := range map[string]string{
		"What a job's process gets": "what-a-jobs-process-gets", "By `make docs`, always": "by-make-docs-always",
		"[README](x.md): 用户 指南": "readme-用户-指南",
	} {
		if got := anchorOf(heading); got != want {
			t.Errorf("%q has the anchor %q, want %q", heading, got, want)
		}
	}
}
