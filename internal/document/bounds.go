package document

import (
	"bytes"
	"errors"
	"fmt"
)

// Documents that come through the API are bounded there (jobs.MaxDocumentBytes). The bounds here apply to documents
// that others have left in a registry, so that none costs a leader more than about 300 ms or 150 MB. Documents of the
// original are far below them.
const (
	// maxStoredBytes bounds every document: it is ZooKeeper's default limit for a node.
	maxStoredBytes = 1 << 20
	// maxFields exceeds the number of fields in any document that the API accepts.
	maxFields = 1 << 16
	// maxDepth bounds the nesting of maps and lists. A pod template needs eleven levels.
	maxDepth = 16
	// maxNodes bounds the number of nodes of a document after its aliases are expanded.
	maxNodes = 4 * maxFields
)

var (
	errTooDeep = fmt.Errorf("it is nested too deep (more than %d maps and lists), or too large with its aliases written out", maxDepth)
	errMerge   = errors.New("it has a merge key (<<), which is not supported: write the fields out")
)

// checkSize checks a document by its size.
func checkSize(doc []byte) error {
	if len(doc) > maxStoredBytes {
		return fmt.Errorf("it has %d bytes, at most %d are read", len(doc), maxStoredBytes)
	}
	if bytes.Count(doc, []byte("\n")) > maxFields {
		return tooMany("lines", maxFields)
	}
	return nil
}

// checkBraces checks a document in braces, JSON or not, before the expensive parsing.
func checkBraces(doc []byte) error {
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

func tooMany(what string, limit int) error {
	return fmt.Errorf("it has more than %d %s", limit, what)
}
