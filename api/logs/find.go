package logs

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// Match is a line of a text in which something was found.
type Match struct {
	// Offset is where the line begins; of the first line of a search that began within one, where the search began.
	Offset int64 `json:"offset"`
	// At is where in the text it was found, the first time in the line.
	At int64 `json:"at"`
	// Line is the line, or as much of it around what was found as an answer has room for.
	Line string `json:"line"`
}

const (
	// foundLine bounds the line of a match, in characters, foundBefore what of it stands before what was found when
	// there is more.
	foundLine   = 500
	foundBefore = 100
	// foundBytes is so much of a text as foundLine characters may take.
	foundBytes = foundLine * utf8.UTFMax
)

// finder looks for lines that have a text, in any case, in another that comes in pieces. It keeps no more than
// foundBytes of what came before a piece, however long lines are. Bytes that are no UTF-8 are found as they are.
type finder struct {
	wanted []byte // folded
	most   int
	found  []Match

	// rest is what may still be part of a match, and at where in the text it begins. line is where the present line
	// begins.
	rest     []byte
	at, line int64
	// skipping is set when the rest of the present line is of no interest, since it is found already.
	skipping bool
}

func newFinder(wanted string, from int64, most int) *finder {
	return &finder{wanted: fold([]byte(wanted)), most: most, at: from, line: from}
}

// full reports whether it has found as much as it was to.
func (f *finder) full() bool { return len(f.found) >= f.most }

// next is where a search that goes on begins.
func (f *finder) next() int64 { return f.at }

// take looks through the next piece; last says that it is the end of the text.
func (f *finder) take(piece []byte, last bool) {
	text := append(f.rest, piece...)
	folded := fold(text)
	done := 0 // what was looked through
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
			done = max(done, len(text)-foundBytes, int(f.line-f.at))
			break
		}
		n += done
		f.beginLine(text, done, n)
		end := bytes.IndexByte(text[n:], '\n')
		if end < 0 && !last && len(text)-n < foundBytes {
			done = max(done, n-foundBytes, int(f.line-f.at)) // how the line goes on comes with the next piece
			break
		}
		if end < 0 {
			end = len(text) - n
		}
		begin := max(n-foundBytes, int(f.line-f.at), 0)
		f.found = append(f.found, Match{Offset: f.line, At: f.at + int64(n),
			Line: shortLine(text[begin:n], text[n:n+end])})
		done, f.skipping = n, true
		if f.full() { // to go on behind this line, if its end is here
			done = min(n+end+1, len(text))
		}
	}
	f.at += int64(done)
	f.rest = append([]byte(nil), text[done:]...)
}

// beginLine moves line to the last line that begins within a part of the text.
func (f *finder) beginLine(text []byte, from, to int) {
	if n := bytes.LastIndexByte(text[from:to], '\n'); n >= 0 {
		f.line = f.at + int64(from+n+1)
	}
}

// shortLine is a line that is cut where what was found begins, at most foundLine characters of it.
func shortLine(before, after []byte) string {
	left := []rune(string(before))
	right := []rune(string(bytes.TrimSuffix(after[:min(len(after), foundBytes)], []byte("\r"))))
	if len(left)+len(right) > foundLine {
		left = left[max(0, len(left)-max(foundBefore, foundLine-len(right))):]
		right = right[:min(len(right), foundLine-len(left))]
	}
	return string(left) + string(right)
}

// fold is a text in small letters, each byte in its place: a letter whose small one takes other space stays as it is.
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
		small := unicode.ToLower(r)
		if size == 1 || utf8.RuneLen(small) != size {
			copy(folded[i:], text[i:i+size])
		} else {
			utf8.EncodeRune(folded[i:], small)
		}
		i += size
	}
	return folded
}
