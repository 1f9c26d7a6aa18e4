package app

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// Documents are bounded where they come in through the API (jobs.MaxDocumentBytes). What
// somebody else leaves in a registry is bounded here, before it is parsed, so that no document
// costs a leader more than some 100 ms or 100 MB: those of the original stay far below.
const (
	// maxStoredBytes is of any document: the default limit of a node of ZooKeeper.
	maxStoredBytes = 1 << 20
	// maxFields is more than any document that the API takes can hold.
	maxFields = 1 << 16
	// maxDepth is of maps and lists in each other; those of a document that can be
	// used are two deep.
	maxDepth = 16
)

// The YAML library takes a thousand times as long as reading the bytes, and, for what is
// nested and for a map's fields, with their square.
const (
	// maxLibraryBytes is of a document that parseLines gives up on.
	maxLibraryBytes = 32 << 10
	maxLibraryLines = 2_000
	// maxIndicators is of characters that mean something to YAML.
	maxIndicators = 10_000
	// maxMarks is of those that did: brackets, dashes of lists, anchors, tags, …
	maxMarks = 500
	// maxLibraryFields is of all maps.
	maxLibraryFields = 4_000
	// maxNodes is of a document with its aliases written out.
	maxNodes = 50_000
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

// boundJSON judges what is or isn't JSON by what it would cost to find out.
func boundJSON(doc []byte) error {
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

// boundYAML judges what the library would be given by its bytes.
func boundYAML(doc []byte) error {
	if len(doc) > maxLibraryBytes {
		return fmt.Errorf("it has %d bytes, at most %d are read of YAML that has not just one field in each line, plain or in quotes", len(doc), maxLibraryBytes)
	}
	indicators, lines := 0, 0
	for _, c := range doc {
		switch c {
		case '\n', '\r':
			lines++
		case '[', ']', '{', '}', '&', '*', '!', '?', '|', '>', '@', '`', '%', '"', '\'', '\t':
			indicators++
		}
	}
	if lines > maxLibraryLines {
		return tooMany("lines", maxLibraryLines)
	}
	if indicators > maxIndicators {
		return tooMany("characters that mean something to YAML, such as brackets, quotes and tabs", maxIndicators)
	}
	return nil
}

// boundTokens judges what the library has made of the bytes, before it puts it together.
func boundTokens(tokens token.Tokens) error {
	marks, fields := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.MappingValueType:
			fields++
		case token.MergeKeyType:
			return errMerge
		case token.MappingStartType, token.SequenceStartType, token.SequenceEntryType, token.MappingKeyType,
			token.AnchorType, token.AliasType, token.TagType, token.DirectiveType, token.DocumentHeaderType:
			marks++
		}
	}
	if fields > maxLibraryFields {
		return tooMany("fields", maxLibraryFields)
	}
	if marks > maxMarks {
		return tooMany("brackets, list entries, anchors, aliases and tags", maxMarks)
	}
	return nil
}

func tooMany(what string, most int) error {
	return fmt.Errorf("it has more than %d %s", most, what)
}
