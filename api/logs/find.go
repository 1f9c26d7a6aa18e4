package logs

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Match is a line of output that contains the wanted text.
type Match struct {
	// Offset is where the line begins, or where the search began if that was within the line.
	Offset int64 `json:"offset"`
	// At is the offset of the first match in the line.
	At int64 `json:"at"`
	// Line is the line, or at most maxLine characters of it around the match.
	Line string `json:"line"`
}

const (
	// maxLine bounds the line of a match, in characters. lineContext is the number of characters before the match that
	// a shortened line keeps at least.
	maxLine     = 500
	lineContext = 100
	// maxLineBytes is the maximum size of maxLine characters.
	maxLineBytes = maxLine * utf8.UTFMax
)

// finder finds the lines that contain a text, ignoring case, in a text that arrives in pieces. It keeps at most
// maxLineBytes of the text before a piece, however long the lines are. It compares bytes that are not UTF-8 unchanged.
type finder struct {
	wanted []byte // lower case
	limit  int
	found  []Match

	// rest is the end of the text so far, which may still be part of a match; at is the offset of rest. line is the
	// offset of the current line.
	rest     []byte
	at, line int64
	// skipping is set while the rest of the current line is skipped, because a line is found only once.
	skipping bool
}

func newFinder(wanted string, from int64, limit int) *finder {
	return &finder{wanted: fold([]byte(wanted)), limit: limit, at: from, line: from}
}

// full reports whether the maximum number of matches has been found.
func (f *finder) full() bool { return len(f.found) >= f.limit }

// next returns the offset at which the next search continues.
func (f *finder) next() int64 { return f.at }

// search searches the next piece; last says that the text ends with it. Both a match and its line may be split between
// pieces, so search keeps the end of the text until the next piece, and records a match only with the rest of its line.
func (f *finder) search(piece []byte, last bool) {
	text := append(f.rest, piece...)
	folded := fold(text)
	done := 0 // the number of bytes searched
	for !f.full() {
		if f.skipping {
			end := bytes.IndexByte(text[done:], '\n')
			if end < 0 {
				done = len(text)
				break
			}
			done += end + 1
			f.line, f.skipping = f.at+int64(done), false
		}
		n := bytes.Index(folded[done:], f.wanted)
		if n < 0 {
			f.beginLine(text, done, len(text))
			done = max(done, len(text)-maxLineBytes, int(f.line-f.at))
			break
		}
		n += done
		f.beginLine(text, done, n)
		end := bytes.IndexByte(text[n:], '\n')
		if end < 0 && !last && len(text)-n < maxLineBytes {
			done = max(done, n-maxLineBytes, int(f.line-f.at)) // the rest of the line comes with the next piece
			break
		}
		if end < 0 {
			end = len(text) - n
		}
		begin := max(n-maxLineBytes, int(f.line-f.at), 0)
		f.found = append(f.found, Match{Offset: f.line, At: f.at + int64(n),
			Line: shortLine(text[begin:n], text[n:n+end])})
		done, f.skipping = n, true
		if f.full() { // so that the next search continues after this line
			done = min(n+end+1, len(text))
		}
	}
	f.at += int64(done)
	f.rest = append([]byte(nil), text[done:]...)
}

// beginLine sets line to the last line that begins within text[from:to].
func (f *finder) beginLine(text []byte, from, to int) {
	if n := bytes.LastIndexByte(text[from:to], '\n'); n >= 0 {
		f.line = f.at + int64(from+n+1)
	}
}

// shortLine joins the parts of a line before and from the start of the match, and cuts the line to maxLine characters.
func shortLine(before, after []byte) string {
	left := []rune(string(before))
	right := []rune(string(bytes.TrimSuffix(after[:min(len(after), maxLineBytes)], []byte("\r"))))
	if len(left)+len(right) > maxLine {
		left = left[max(0, len(left)-max(lineContext, maxLine-len(right))):]
		right = right[:min(len(right), maxLine-len(left))]
	}
	return string(left) + string(right)
}

// fold returns a text in lower case, in which each character keeps its offset: a letter whose lower case has another
// length stays unchanged.
func fold(text []byte) []byte {
	folded := make([]byte, len(text))
	for i := 0; i < len(text); {
		b := text[i]
		if b < utf8.RuneSelf {
			if 'A' <= b && b <= 'Z' {
				b += 'a' - 'A'
			}
			folded[i] = b
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		lower := unicode.ToLower(r)
		if size == 1 || utf8.RuneLen(lower) != size {
			copy(folded[i:], text[i:i+size])
		} else {
			utf8.EncodeRune(folded[i:], lower)
		}
		i += size
	}
	return folded
}
