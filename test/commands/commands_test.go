package commands

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/test/reference"
)

const root = "../.."

// cloned are the parts of the repository that the documents' commands need, other than bin.
var cloned = []string{"Makefile", "go.mod", "go.sum", "sdk", "examples"}

// TestDocuments types the commands of every document, and lists those that are not typed, with the reason.
func TestDocuments(t *testing.T) {
	t.Parallel()
	master := builtClone(t)
	typed, others, notRun := 0, 0, []string{}
	for _, path := range reference.Documents(t, root) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := blocksOf(string(text))
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		var here []block
		for _, b := range blocks {
			switch {
			case b.notRun != "":
				notRun = append(notRun, fmt.Sprintf("%s:%d: %s", path, b.line, b.notRun))
			case b.runBy != "":
				others++
				if fault := untested(path, b.runBy); fault != "" {
					t.Errorf("%s:%d: %s", path, b.line, fault)
				}
			default:
				here = append(here, b)
			}
		}
		if typed += len(here); len(here) > 0 {
			t.Run(path, func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t, master)
				for _, b := range here {
					s.follows(path, b)
				}
			})
		}
	}
	t.Logf("%d blocks of commands are typed here, %d by other tests, and %d are not run:\n%s", typed, others,
		len(notRun), strings.Join(notRun, "\n"))
}

// follows types one block, after the commands that must come before it, and checks what it does.
func (s *sandbox) follows(path string, b block) {
	s.Helper()
	at := fmt.Sprintf("%s:%d", path, b.line)
	if b.ends {
		s.ends()
	}
	for _, step := range b.before {
		if step.stays != "" {
			s.opens(step.commands, step.stays)
		} else if said, status := s.types(at, step.commands, ""); status != 0 {
			s.Fatalf("%s:%d: exit status %d of the commands before the block: %s\nof\n%s", path, b.line, status, said,
				step.commands)
		}
	}
	switch {
	case b.stays != "":
		s.opens(b.commands, b.stays)
	case b.answers:
		s.calls(path, b)
	default:
		said, status := s.types(at, b.commands, b.given)
		if status != b.exits {
			s.Fatalf("%s:%d: exit status %d, want %d: %s\nof\n%s", path, b.line, status, b.exits, said, b.commands)
		}
		if line := missing(s.text.Replace(b.writes), said); line != "" {
			s.Fatalf("%s:%d: the document shows the line\n%s\nbut the commands wrote\n%s", path, b.line, line, said)
		}
	}
}

// calls types each curl line of a block. It checks that each answer is an error just if the document shows one, and has
// the fields that the document shows.
func (s *sandbox) calls(path string, b block) {
	s.Helper()
	for _, c := range b.calls() {
		said, status := s.types(fmt.Sprintf("%s:%d", path, b.line), c.line, "")
		if refused := strings.HasPrefix(c.answer, `{"error"`); refused != (status != 0) {
			s.Errorf("%s:%d: exit status %d: %s\nof\n%s", path, b.line, status, said, c.line)
		} else if field := unanswered(c.answer, said); field != "" {
			s.Errorf("%s:%d: the document shows an answer with the field %q, but the answer is\n%s\nof\n%s", path, b.line,
				field, said, c.line)
		}
	}
}

// builtClone returns a clone in which make build has run.
func builtClone(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	copyTree(t, root, folder)
	cmd := exec.Command("make", "build")
	cmd.Dir = folder
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, said)
	}
	return folder
}

// untested returns what is wrong with the reference "folder: test": there is no such test, or its package does not read
// the document and would still type the old line after the document changes. It returns "" if nothing is.
func untested(path, reference string) string {
	folder, name, _ := strings.Cut(reference, ": ")
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		return err.Error()
	}
	exists, reads := false, false
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err.Error()
		}
		exists = exists || strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)")
		reads = reads || strings.Contains(string(text), filepath.Base(path)+`"`)
	}
	switch {
	case !exists:
		return fmt.Sprintf("%q is not of the form folder: Test, or there is no such test", reference)
	case !reads:
		return fmt.Sprintf("the tests of %s do not read this document: let them type what it says, or say why it is not run", folder)
	}
	return ""
}
