package commands

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// block is what a document tells its reader to type at once.
type block struct {
	line     int
	commands string
	ends     bool   // what goes on is ended first
	before   []step // in order
	notRun   string // why, where nobody types it here
	runBy    string // "folder: test", where another test types it
	stays    string // the address that answers once it is ready, for what goes on
	given    string // what is typed when a command asks
	exits    int
	answers  bool   // curl lines, each with an example of its answer
	writes   string // what it writes, where the document shows it
}

// step is typed before a block, unseen by readers.
type step struct{ commands, stays string }

var (
	comment = regexp.MustCompile(`(?s)^<!-- (.*?)\s*-->`)
	before  = regexp.MustCompile(`(?s)^before(?:, stays until (\S+))?:\s+(.*)$`)
)

// blocksOf reads a document. What it can't make out in it is an error, with its line.
func blocksOf(text string) (all []block, err error) {
	var next block
	directed, previous := false, -1
	for at := 0; at < len(text); {
		rest, line := text[at:], 1+strings.Count(text[:at], "\n")
		if found := comment.FindStringSubmatch(rest); found != nil {
			ours, err := next.direct(found[1])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			directed = directed || ours
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
				return nil, fmt.Errorf("line %d: no test looks at this code block: a comment before it has to "+
					"name one, or say why none does", line)
			}
			at += found.length
			continue
		} else if strings.TrimSpace(firstLine(rest)) != "" {
			previous = -1
		}
		at += len(firstLine(text[at:]))
	}
	if directed {
		return nil, fmt.Errorf("at the end is a comment for commands that never come")
	}
	return all, nil
}

type fencedBlock struct {
	language, content string
	length            int
}

// fenced is the code block that a text begins with, if it does.
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

// firstLine is a text's, its end included.
func firstLine(text string) string {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1]
	}
	return text
}

// direct follows a comment. One that is not for this test is none of ours.
func (b *block) direct(said string) (ours bool, err error) {
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

// call is a curl line with what a document shows of its answer.
type call struct{ line, answer string }

// calls are those of a block of curl lines and their answers.
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

// missing is the first line of what should have been written that is not among what was, in order.
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

// unanswered is the first field of an example of an answer that an answer doesn't have. What fields hold is not looked
// at, and an empty list has none.
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

// fields are those of an object, or of the objects of a list, also where … stands for some of them.
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
