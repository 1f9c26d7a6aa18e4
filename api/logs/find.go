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
	// maxLine bounds the line of a match, in characters. A shortened line keeps at least lineContext characters before
	// the match.
	maxLine     = 500
	lineContext = 100
	// maxLineBytes is the maximum size of maxLine characters.
	maxLineBytes = maxLine * utf8.UTFMax
)

// finder finds the lines that contain a text, ignoring case, in a text that arrives in pieces. It keeps at most
// maxLineBytes of the text before a piece, however long the lines are. It compares bytes that are not UTF-8 unchanged.
type finder struct {
	wanted []byte // lower case
	limit  int    // the maximum number of matches
	found  []Match

	// rest is the end of the text so far, which may still be part of a match or of its line; restOffset is its offset.
	rest       []byte
	restOffset int64
	// lineOffset is the offset of the current line.
	lineOffset int64
	// skipping is set after a match, until its line ends: a line counts once, however many matches it has.
	skipping bool
}

// newFinder returns a finder for a text that begins at offset from.
func newFinder(wanted string, from int64, limit int) *finder {
	return &finder{wanted: fold([]byte(wanted)), limit: limit, restOffset: from, lineOffset: from}
}

// full reports whether the maximum number of matches has been found.
func (f *finder) full() bool { return len(f.found) >= f.limit }

// nextOffset returns the offset at which another search would continue.
func (f *finder) nextOffset() int64 { return f.restOffset }

// search searches the next piece; last is true for the last piece. Both a match and its line may be split between
// pieces. So search keeps the end of the text for the next call, and records a match only when it has either the rest
// of the line or maxLineBytes of it.
func (f *finder) search(piece []byte, last bool) {
	text := append(f.rest, piece...)
	folded := fold(text)
	done := 0 // text[:done] is searched, and not required any more
	for !f.full() {
		if f.skipping {
			end := bytes.IndexByte(text[done:], '\n')
			if end < 0 {
				done = len(text)
				break
			}
			done += end + 1
			f.lineOffset, f.skipping = f.restOffset+int64(done), false
		}
		n := bytes.Index(folded[done:], f.wanted)
		if n < 0 {
			f.advanceLine(text, done, len(text))
			done = max(done, len(text)-maxLineBytes, int(f.lineOffset-f.restOffset))
			break
		}
		n += done
		f.advanceLine(text, done, n)
		end := bytes.IndexByte(text[n:], '\n')
		if end < 0 && !last && len(text)-n < maxLineBytes {
			// The next piece has the rest of the line.
			done = max(done, n-maxLineBytes, int(f.lineOffset-f.restOffset))
			break
		}
		if end < 0 {
			end = len(text) - n
		}
		begin := max(n-maxLineBytes, int(f.lineOffset-f.restOffset), 0)
		f.found = append(f.found, Match{Offset: f.lineOffset, At: f.restOffset + int64(n),
			Line: shortLine(text[begin:n], text[n:n+end])})
		done, f.skipping = n, true
		if f.full() { // another search continues after this line
			done = min(n+end+1, len(text))
		}
	}
	f.restOffset += int64(done)
	f.rest = append([]byte(nil), text[done:]...)
}

// advanceLine sets lineOffset to the last line that begins after a newline in text[from:to]. Without a newline there,
// the current line stays.
func (f *finder) advanceLine(text []byte, from, to int) {
	if n := bytes.LastIndexByte(text[from:to], '\n'); n >= 0 {
		f.lineOffset = f.restOffset + int64(from+n+1)
	}
}

// shortLine returns at most maxLine characters of a line around its match: before is the part before the match, after
// the part from its beginning.
func shortLine(before, after []byte) string {
	left := []rune(string(before))
	right := []rune(string(bytes.TrimSuffix(after[:min(len(after), maxLineBytes)], []byte("\r"))))
	if len(left)+len(right) > maxLine {
		left = left[max(0, len(left)-max(lineContext, maxLine-len(right))):]
		right = right[:min(len(right), maxLine-len(left))]
	}
	return string(left) + string(right)
}

// fold returns a text in lower case. All characters keep their offsets, because a letter whose lower case has another
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
