package textfile_test

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"

	"github.com/elasticjob-go/elasticjob/internal/textfile"
)

func in(t *testing.T, e encoding.Encoding, text string) string {
	t.Helper()
	out, err := e.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDecode(t *testing.T) {
	t.Parallel()
	const text = "jobName: a\ndescription: 对账 é\n"
	for name, test := range map[string]struct{ text, declared, want string }{
		"UTF-8":                    {text, "", text},
		"UTF-8 with a mark":        {textfile.Mark + text, "", text},
		"UTF-8, declared as other": {text, "gbk", text},
		"UTF-16 LE":                {in(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), text), "", text},
		"UTF-16 BE":                {in(t, unicode.UTF16(unicode.BigEndian, unicode.UseBOM), text), "", text},
		"UTF-16 without a mark":    {in(t, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), text), "", text},
		"UTF-16 BE without a mark": {in(t, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), text), "", text},
		"UTF-32":                   {in(t, utf32.UTF32(utf32.LittleEndian, utf32.UseBOM), text), "", text},
		"GBK, declared":            {in(t, simplifiedchinese.GBK, "# 对账"), "GBK", "# 对账"},
		"XML": {in(t, simplifiedchinese.GBK, `<?xml version="1.0" encoding="GBK"?><a b="对账"/>`), "",
			`<?xml version="1.0" encoding="GBK"?><a b="对账"/>`},
		"a dump of MySQL": {in(t, charmap.Windows1252, "/*!40101 SET NAMES latin1 */;\n-- é"), "", "/*!40101 SET NAMES latin1 */;\n-- é"},
		"Python":          {in(t, charmap.ISO8859_1, "#!/usr/bin/python\n# -*- coding: iso-8859-1 -*-\n# é"), "", "#!/usr/bin/python\n# -*- coding: iso-8859-1 -*-\n# é"},
		"empty":           {"", "", ""},
		"zeros":           {"a\x00b", "", "a\x00b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := textfile.Decode([]byte(test.text), test.declared); err != nil || string(got) != test.want {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestUnknownEncodingsAreNamedWithACommand(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, declared, want string }{
		"GBK":                   {"a\n# " + in(t, simplifiedchinese.GBK, "每天对账，失败重试"), "", "line 2 has other bytes; it looks like GB18030: convert it with \"iconv -f GB18030 -t UTF-8\""},
		"ISO-8859-1":            {in(t, charmap.ISO8859_1, "Überweisung für Käufer"), "", "iconv -f ISO-8859-1"},
		"declared wrongly":      {in(t, charmap.ISO8859_1, "é"), "utf-8", "iconv -f ISO-8859-1"},
		"declared, but damaged": {"\xff\xff\xff", "gbk", "decode from gbk"},
		"odd UTF-16":            {"\xff\xfea", "", "decode from UTF-16"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := textfile.Decode([]byte(test.text), test.declared); err == nil ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	gbk := in(t, simplifiedchinese.GBK, "错误：无法连接数据库")
	for name, test := range map[string]struct{ text, charset, want string }{
		"UTF-8":                            {"对账 é\n", "gbk", "对账 é\n"},
		"GBK among UTF-8":                  {"失败 é\n" + gbk + "\nend", "", "失败 é\n错误：无法连接数据库\nend"},
		"a character of UTF-8 that is cut": {"无法连接数据\xe5\xba", "", "无法连接数据\xe5\xba"},
		"ISO-8859-1":                       {in(t, charmap.ISO8859_1, "Überweisung für Käufer fehlt"), "", "Überweisung für Käufer fehlt"},
		"by the charset":                   {in(t, japanese.ShiftJIS, "接続できません"), "Shift_JIS", "接続できません"},
		"another charset than it says":     {gbk, "utf-8", "错误：无法连接数据库"},
		"an unknown charset":               {gbk, "nonsense", "错误：无法连接数据库"},
		"no byte order mark":               {"\xff\xfea\x00\n", "", "\xff\xfea\x00\n"},
		"no text":                          {"\x80\xff\x81", "", "\x80\xff\x81"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := textfile.Show([]byte(test.text), test.charset); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
