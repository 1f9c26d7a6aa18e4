package document

import (
	"bytes"
	"errors"
	"fmt"
)

// Documents are bounded where they come in through the API (jobs.MaxDocumentBytes). A document that
// somebody else leaves in a registry is bounded here, so that none
// costs a leader more than some 300 ms or 150 MB: those of the original stay far below.
const (
	// maxStoredBytes bounds any document: it is the default limit of a node of ZooKeeper.
	maxStoredBytes = 1 << 20
	// maxFields is more than any document that the API takes can hold.
	maxFields = 1 << 16
	// maxDepth bounds how deep maps and lists are nested. Those of a pod's template are eleven deep.
	maxDepth = 16
	// maxNodes bounds a document with its aliases written out.
	maxNodes = 4 * maxFields
)

var (
	errTooDeep = fmt.Errorf("it is nested too deep (more than %d maps and lists), or too large with its aliases written out", maxDepth)
	errMerge   = errors.New("it has a merge key (<<), which is not read: write the fields out")
)

// boundStored judges a document by its size.
func boundStored(doc []byte) error {
	if len(doc) > maxStoredBytes {
		return fmt.Errorf("it has %d bytes, at most %d are read", len(doc), maxStoredBytes)
	}
	if bytes.Count(doc, []byte("\n")) > maxFields {
		return tooMany("lines", maxFields)
	}
	return nil
}

// boundBraces judges a document in braces, JSON or not, by what it would cost to find out.
func boundBraces(doc []byte) error {
	depth, commas, inText := 0, 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return errTooDeep
			}
		case c == '}' || c == ']':
			depth--
		case c == ',':
			if commas++; commas >= maxFields {
				return tooMany("fields", maxFields)
			}
		}
	}
	return nil
}

func tooMany(what string, most int) error {
	return fmt.Errorf("it has more than %d %s", most, what)
}
