package document

import (
	"bytes"
	"errors"
	"fmt"
)

// The API bounds the documents that come through it (jobs.MaxDocumentBytes). The bounds here apply to documents that
// other programs have written to a registry, so that no document costs a leader more than about 300 ms or 150 MB.
// Documents of the original are far below these bounds.
const (
	// maxStoredBytes bounds the size of a document. It is ZooKeeper's default limit for a node.
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

// checkSize refuses a document with too many bytes or lines.
func checkSize(doc []byte) error {
	if len(doc) > maxStoredBytes {
		return fmt.Errorf("it has %d bytes, at most %d are read", len(doc), maxStoredBytes)
	}
	if bytes.Count(doc, []byte("\n")) > maxFields {
		return tooMany("lines", maxFields)
	}
	return nil
}

// checkBraces refuses a document in braces that is nested too deep or has too many fields, before it is parsed, which
// costs more. The document need not be valid JSON.
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

func tooMany(things string, limit int) error {
	return fmt.Errorf("it has more than %d %s", limit, things)
}
