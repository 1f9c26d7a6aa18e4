// Package textfile decodes texts of users, programs and other systems. Most are UTF-8, but Windows' editors put a byte
// order mark in front or write UTF-16, and files of older systems are in GBK or ISO-8859-1.
package textfile

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	utf "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Mark is the byte order mark in UTF-8.
const Mark = "\ufeff"

var marked = []struct {
	mark     string
	encoding encoding.Encoding
}{
	{"\xff\xfe\x00\x00", utf32.UTF32(utf32.LittleEndian, utf32.ExpectBOM)},
	{"\x00\x00\xfe\xff", utf32.UTF32(utf32.BigEndian, utf32.ExpectBOM)},
	{"\xff\xfe", utf.UTF16(utf.LittleEndian, utf.ExpectBOM)},
	{"\xfe\xff", utf.UTF16(utf.BigEndian, utf.ExpectBOM)},
}

// Decode returns a text as UTF-8 without a byte order mark. The encoding is certain if the text has a mark, or is
// UTF-8 or UTF-16 without one. Otherwise it is declared, such as "gbk", or if declared is "", the encoding that the
// text itself declares. If neither declares one, the error names the likely encoding and a command that converts the
// text. Decode does not copy a text that is UTF-8 already.
func Decode(text []byte, declared string) ([]byte, error) {
	if decoded, ok, err := Marked(text); ok {
		return decoded, err
	}
	if utf8.Valid(text) {
		return text, nil
	}
	if declared == "" {
		declared = Declared(text)
	}
	if chosen, err := htmlindex.Get(declared); err == nil && declared != "" && chosen != utf.UTF8 {
		if chosen == simplifiedchinese.GBK {
			chosen = simplifiedchinese.GB18030 // which has all of GBK
		}
		return decode(text, chosen, declared)
	}
	guess := guessed(text)
	return nil, fmt.Errorf("the text is not UTF-8: line %d has other bytes; it looks like %s: convert it with \"iconv -f %s -t UTF-8\"",
		bytes.Count(text[:invalid(text)], []byte("\n"))+1, guess, guess)
}

// Marked decodes a text that has a byte order mark or is UTF-16 without one. ok is false for other texts. The error
// contains no part of the text.
func Marked(text []byte) (decoded []byte, ok bool, err error) {
	for _, m := range marked {
		if bytes.HasPrefix(text, []byte(m.mark)) {
			decoded, err = decode(text, m.encoding, "UTF-16 or UTF-32")
			return decoded, true, err
		}
	}
	if wide := withoutMark(text); wide != nil {
		decoded, err = decode(text, wide, "UTF-16")
		return decoded, true, err
	}
	decoded, ok = bytes.CutPrefix(text, []byte(Mark))
	return decoded, ok && utf8.Valid(decoded), nil
}

func decode(text []byte, from encoding.Encoding, name string) ([]byte, error) {
	out, err := from.NewDecoder().Bytes(text)
	if err == nil && bytes.ContainsRune(out, utf8.RuneError) {
		err = errors.New("it has bytes that this encoding does not have")
	}
	if err != nil {
		return nil, fmt.Errorf("decode from %s: %w", name, err)
	}
	return bytes.TrimPrefix(out, []byte(Mark)), nil
}

// withoutMark returns the form of UTF-16 that a text without a mark is in, or nil. Such a text has an even number of
// bytes, and in its first bytes every other byte is 0, because that is so for Latin letters, digits and signs.
func withoutMark(text []byte) encoding.Encoding {
	const sampleBytes = 64
	sample := text[:min(len(text), sampleBytes)&^1]
	var zeros [2]int
	for i, c := range sample {
		if c == 0 {
			zeros[i%2]++
		}
	}
	half := len(sample) / 2
	switch {
	case half < 2 || len(text)%2 != 0:
		return nil
	case zeros[0] == 0 && zeros[1] > half*3/4:
		return utf.UTF16(utf.LittleEndian, utf.IgnoreBOM)
	case zeros[1] == 0 && zeros[0] > half*3/4:
		return utf.UTF16(utf.BigEndian, utf.IgnoreBOM)
	}
	return nil
}

// declaration finds the encoding that a text names: XML's declaration, Python's and Emacs' coding, and the character
// set of a dump of MySQL or PostgreSQL.
var declaration = regexp.MustCompile(`(?mi)\A<\?xml[^>]*\bencoding\s*=\s*["']([\w.-]+)["']` +
	`|^#.*\bcoding[:=]\s*([\w.-]+)` +
	`|^\s*(?:/\*!\d+ )?SET NAMES\s+['"]?([\w-]+)` +
	`|^SET client_encoding\s*=\s*'([\w-]+)'`)

// Declared returns the encoding that a text declares for itself, or "".
func Declared(text []byte) string {
	const head = 64 << 10
	found := declaration.FindSubmatch(text[:min(len(text), head)])
	if found == nil {
		return ""
	}
	name := string(bytes.ToLower(bytes.Join(found[1:], nil)))
	switch name {
	case "utf8mb4", "utf8mb3", "utf8":
		return "utf-8"
	case "latin1":
		return "windows-1252" // MySQL means this by latin1
	case "euc_cn", "gb2312":
		return "gb18030"
	}
	return name
}

// Show returns a readable form of a text. It decodes each line that is not UTF-8 separately, because the programs that
// write to an output may use different encodings. It decodes from charset, such as that of the variable LANG, or else
// from the likely encoding. A line without a likely encoding stays unchanged.
func Show(text []byte, charset string) string {
	if utf8.Valid(text) {
		return string(text)
	}
	var b strings.Builder
	for line := range bytes.Lines(text) {
		b.Write(shown(line, charset))
	}
	return b.String()
}

// shown decodes a line for Show.
func shown(line []byte, charset string) []byte {
	// These count bytes: Latin letters, those of longer characters in UTF-8, those that are not UTF-8 (broken), and
	// those of the broken ones that are letters in windows-1252 (high).
	letters, multibyte, broken, high := 0, 0, 0, 0
	for rest := line; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			broken++
			if rest[0] >= 0xa0 {
				high++
			}
		case size > 1:
			multibyte += size
		case 'a' <= r|0x20 && r|0x20 <= 'z':
			letters++
		}
		rest = rest[size:]
	}
	if broken == 0 || multibyte > broken { // UTF-8, perhaps with a character that was cut
		return line
	}
	if charset != "" {
		if decoded, err := Decode(line, charset); err == nil {
			return decoded
		}
	}
	if guessed(line) == "GB18030" {
		charset = "gb18030"
	} else if high == broken && letters >= 3*(broken+multibyte) {
		charset = "windows-1252"
	} else {
		return line
	}
	if decoded, err := Decode(line, charset); err == nil {
		return decoded
	}
	return line
}

// guessed returns the name of the likely encoding. In Chinese texts most characters are two bytes of 0x80 or more, so
// such bytes stand together in even numbers. In Western languages they are letters with accents, which mostly stand
// alone.
func guessed(text []byte) string {
	even, odd, run := 0, 0, 0
	for _, c := range append(bytes.Clone(text), 0) {
		switch {
		case c >= utf8.RuneSelf:
			run++
		case run%2 == 0:
			even, run = even+run, 0
		default:
			odd, run = odd+run, 0
		}
	}
	decoded, err := simplifiedchinese.GB18030.NewDecoder().Bytes(text)
	if err != nil || bytes.ContainsRune(decoded, utf8.RuneError) || odd >= even {
		return "ISO-8859-1"
	}
	return "GB18030"
}

// invalid returns the offset of the first byte that is not UTF-8, or the length of the text.
func invalid(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}
