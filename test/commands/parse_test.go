package commands

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlocksOf(t *testing.T) {
	t.Parallel()
	const text = "# Title\n\n<!-- before, stays until http://h/readyz:\nserver\n-->\n<!-- before: eventually true -->\n<!-- exits with 3 -->\n```sh\na\n\nb\n```\n\n```text\nsays …\n```\n" +
		"word\n<!-- not run: a drawing -->\n```text\nnothing's\n```\n<!-- a remark -->\n" +
		"<!-- not run: it needs a Mesos -->\n```sh\nc\n```\n<!-- run by test/x: TestX -->\n```sql\nd\n```"
	got, err := blocksOf(text)
	if err != nil {
		t.Fatal(err)
	}
	want := []block{
		{line: 8, commands: "a\n\nb\n", exits: 3, writes: "says …\n", before: []step{{commands: "server", stays: "http://h/readyz"}, {commands: "eventually true"}}},
		{line: 19, notRun: "a drawing"},
		{line: 24, commands: "c\n", notRun: "it needs a Mesos"},
		{line: 28, runBy: "test/x: TestX"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(block{}, step{})); diff != "" {
		t.Error(diff)
	}
	for fault, text := range map[string]string{
		"is none of the comments":      "<!-- not run -->\n```sh\na\n```\n",
		"stands before something else": "<!-- exits with 1 -->\n```json\n{}\n```\n",
		"no test checks this":          "```sh\na\n```\nwords\n```json\n{}\n```\n",
		"no code block follows":        "<!-- not run: it hangs -->\n",
	} {
		if _, err := blocksOf(text); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%q: %v, want %q", text, err, fault)
		}
	}
}

func TestUntested(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, reference, want string }{
		{"docs/cli.md", "test/commandline: TestCompletion", ""},
		{"docs/cli.md", "test/commandline: TestNothing", "no such test"},
		{"docs/cli.md", "test/dist: TestTwoBuildsOfACommitAreTheSame", "do not read"},
	} {
		if got := untested(c.path, c.reference); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s of %s: %q, want %q", c.reference, c.path, got, c.want)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ want, said, missing string }{
		{"a\nc\n", "a\nb\nc\n", ""},
		{"c\na\n", "a\nb\nc\n", "a"},
		{"fire of 2026-05-01T12:00:00Z\n", "fire of 2027-01-02T03:04:05.678Z\n", ""},
		{"id … ends\n", "id x.y ends\n", ""},
		{"id\n", "idle\n", "id"},
	} {
		if got := missing(c.want, c.said); got != c.missing {
			t.Errorf("missing(%q, %q) is %q, want %q", c.want, c.said, got, c.missing)
		}
	}
}

func TestUnanswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ example, answer, field string }{
		{`{"a":1,…,"b":[…]}`, `{"a":2,"c":3,"b":[]}`, ""},
		{`{"a":1,"gone":2}`, `{"a":1}`, "gone"},
		{`[{"a":1}]`, "[]\n", ""},
		{`[{"a":1,"b":{"c":"\"d\":1"}},…]`, `[{"a":"{","b":[]}]`, ""},
	} {
		if got := unanswered(c.example, c.answer); got != c.field {
			t.Errorf("unanswered(%q, %q) is %q, want %q", c.example, c.answer, got, c.field)
		}
	}
}
