// Package reference keeps the generated parts of documents up to date: make docs writes them, and a test fails if
// they differ from the code.
package reference

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var write = flag.Bool("docs", false, "write the parts of docs/ that are made from the code")

// Check compares the part of a document between the comments <!-- made by make docs: part --> and <!-- end --> with
// the generated text want, or with -docs replaces it.
func Check(t testing.TB, path, part, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begins := strings.Cut(string(text), fmt.Sprintf("<!-- made by make docs: %s -->\n", part))
	has, tail, ends := strings.Cut(rest, "<!-- end -->")
	if !begins || !ends {
		t.Fatalf("%s has no part %q", filepath.Base(path), part)
	}
	if *write {
		replace(t, path, strings.TrimSuffix(string(text), rest)+want+"<!-- end -->"+tail)
		return
	}
	if diff := cmp.Diff(has, want); diff != "" {
		t.Errorf("%s differs from the code behind %q (- document, + code; make docs rewrites it):\n%s",
			filepath.Base(path), head[strings.LastIndex(head, "\n#")+1:], diff)
	}
}

// CheckFile is Check for a file that is generated as a whole.
func CheckFile(t testing.TB, path, want string) {
	t.Helper()
	if *write {
		replace(t, path, want)
		return
	}
	has, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("make docs writes it: %v", err)
	}
	if diff := cmp.Diff(string(has), want); diff != "" {
		t.Errorf("%s differs from the code (- file, + code; make docs rewrites it):\n%s", filepath.Base(path), diff)
	}
}

func replace(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Cell escapes a text for a cell of a table.
func Cell(text string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;", ">", "&gt;").Replace(text)
}
