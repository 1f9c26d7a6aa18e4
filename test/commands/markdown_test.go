package commands

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// block is a block of commands in a document.
type block struct {
	line     int
	commands string
	ends     bool   // running commands are ended first
	before   []step // in order
	notRun   string // why no test types the block, if none does
	runBy    string // "folder: test" if another test types the block
	stays    string // the address that answers once the commands are ready, if they keep running
	given    string // the input when a command asks
	exits    int    // the exit status
	answers  bool   // the block has curl lines, each with an example of its answer
	writes   string // the output that the document shows, if any
}

// step has commands that are typed before a block, and that readers do not see. stays is as in block.
type step struct{ commands, stays string }

var (
	comment = regexp.MustCompile(`(?s)^<!-- (.*?)\s*-->`)
	before  = regexp.MustCompile(`(?s)^before(?:, stays until (\S+))?:\s+(.*)$`)
)

// blocksOf parses a document. Its errors contain the line.
func blocksOf(text string) (all []block, err error) {
	var next block
	directed := false // a comment for the next block was read
	previous := -1    // the index of the block of commands that only blank lines have followed
	for at := 0; at < len(text); {
		rest, line := text[at:], 1+strings.Count(text[:at], "\n")
		if found := comment.FindStringSubmatch(rest); found != nil {
			applied, err := next.direct(found[1])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			directed = directed || applied
			at += len(found[0])
		} else if found := fenced(rest); found != nil {
			behind := previous
			previous = -1
			switch {
			case found.language == "sh":
				next.line, next.commands = line, found.content
				all = append(all, next)
				next, directed, previous = block{}, false, len(all)-1
			case next.runBy != "" || next.notRun != "":
				next.line = line
				all = append(all, next)
				next, directed = block{}, false
			case directed:
				return nil, fmt.Errorf("line %d: a comment for commands stands before something else", line)
			case found.language == "text" && behind >= 0:
				all[behind].writes = found.content
			default:
				return nil, fmt.Errorf("line %d: no test checks this code block: a comment before the block has to "+
					"name a test, or say why none checks it", line)
			}
			at += found.length
			continue
		} else if strings.TrimSpace(firstLine(rest)) != "" {
			previous = -1
		}
		at += len(firstLine(text[at:]))
	}
	if directed {
		return nil, errors.New("no code block follows the last comment for commands")
	}
	return all, nil
}

type fencedBlock struct {
	language, content string
	length            int
}

// fenced returns the code block at the beginning of a text, if there is one.
func fenced(text string) *fencedBlock {
	opening := firstLine(text)
	if !strings.HasPrefix(opening, "```") {
		return nil
	}
	content, _, closed := strings.Cut(text[len(opening):], "\n```\n")
	if !closed {
		content = strings.TrimSuffix(strings.TrimSuffix(text[len(opening):], "\n"), "\n```")
		return &fencedBlock{strings.TrimSpace(opening[3:]), content + "\n", len(text)}
	}
	return &fencedBlock{strings.TrimSpace(opening[3:]), content + "\n", len(opening) + len(content) + len("\n```\n")}
}

// firstLine returns the first line of a text with its line end.
func firstLine(text string) string {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1]
	}
	return text
}

// direct applies a comment to the block that follows it. It reports whether the comment is one for these tests.
func (b *block) direct(said string) (applied bool, err error) {
	if found := before.FindStringSubmatch(said); found != nil {
		b.before = append(b.before, step{commands: found[2], stays: found[1]})
		return true, nil
	}
	for prefix, to := range map[string]*string{"not run: ": &b.notRun, "is given ": &b.given, "run by ": &b.runBy,
		"stays until ": &b.stays} {
		if rest, found := strings.CutPrefix(said, prefix); found {
			*to = rest
			return true, nil
		}
	}
	switch {
	case said == "ends what stays":
		b.ends = true
		return true, nil
	case said == "curl lines and their answers":
		b.answers = true
		return true, nil
	case strings.HasPrefix(said, "exits with "):
		b.exits, err = strconv.Atoi(strings.TrimPrefix(said, "exits with "))
		return true, err
	case strings.HasPrefix(said, "not run"), strings.HasPrefix(said, "stays"), strings.HasPrefix(said, "before"),
		strings.HasPrefix(said, "exits"), strings.HasPrefix(said, "ends what"):
		return true, fmt.Errorf("<!-- %s --> is none of the comments that go doc ./test/commands lists", said)
	}
	return false, nil
}

// call is a curl line with the example of its answer.
type call struct{ line, answer string }

// calls returns the curl lines of a block with their answers.
func (b block) calls() (all []call) {
	for line := range strings.Lines(b.commands) {
		switch {
		case strings.HasPrefix(line, "curl "):
			all = append(all, call{line: line})
		case len(all) > 0:
			all[len(all)-1].answer += line
		}
	}
	return all
}

var (
	moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	quoted = regexp.MustCompile(`^"(\\.|[^"\\])*"`)
)

// missing returns the first line of want that said does not have after the lines before it; "" if it has all in this
// order. … in a line stands for any text, and all times are equal.
func missing(want, said string) string {
	said = moment.ReplaceAllString(said, "TIME")
	for line := range strings.Lines(want) {
		parts := strings.Split(moment.ReplaceAllString(strings.TrimSpace(line), "TIME"), "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		place := regexp.MustCompile(`(?m)^\s*` + strings.Join(parts, ".*") + `\s*$`).FindStringIndex(said)
		if place == nil {
			return strings.TrimSpace(line)
		}
		said = said[place[1]:]
	}
	return ""
}

// unanswered returns the first field of an example that an answer lacks; "" if the answer has all, or is an empty
// list. It does not compare values.
func unanswered(example, answer string) string {
	if strings.HasPrefix(answer, "[]") || strings.HasPrefix(answer, `{"rows":[]`) {
		return ""
	}
	has := fields(answer)
	for _, name := range fields(example) {
		if !slices.Contains(has, name) {
			return name
		}
	}
	return ""
}

// fields returns the names of the fields of an object, or of the objects in a list, even if … replaces some of them.
func fields(answer string) (names []string) {
	depth := 0
	for len(answer) > 0 {
		skip := 1
		switch answer[0] {
		case '{':
			depth++
		case '}':
			depth--
		case '"':
			text := quoted.FindString(answer)
			if skip = max(1, len(text)); depth == 1 && strings.HasPrefix(answer[skip:], ":") {
				names = append(names, strings.Trim(text, `"`))
			}
		}
		answer = answer[skip:]
	}
	return names
}
