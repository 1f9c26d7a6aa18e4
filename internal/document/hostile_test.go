package document

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// hostile returns documents of at most size bytes that may be left in a registry: documents that once used all memory
// or took minutes, alone or after a harmless part.
func hostile(size int) map[string]string {
	docs := map[string]string{}
	addRepeated := func(before, piece, after string) {
		docs[fmt.Sprintf("%q, %q again and again, %q", before, piece, after)] = before + strings.Repeat(piece,
			max(size-len(before)-len(after), 0)/len(piece)) + after
	}
	for _, piece := range []string{
		"[", "]", "{", "}", "[]", "{}", "[a,", "{a: ", "{\"a\":", "- ", "- a\n", "? ", "? a\n: b\n", ": ", "a: ",
		"a:\n", "a: [\n", "'a': ",
		"&a ", "*a ", "!a ", "!!a ", "!<a> ", "a: &a\n", "a: *a\n", "<<: ", "<<: *a\n", "|\n", ">", "a: |\n x\n", "@",
		"`", "%YAML 1.2\n", "---\n", "...\n",
		"\"", "'", "''", "\\", "a: \"", "a: '\n", "x: \"\\u0041", "#", "# x\n", "\n", "\r", "\r\n", "\t", " ", "\x00",
		"\ufeff", "\u2028", "~", "1_", "a,", "a\n", "上 ",
	} {
		addRepeated("", piece, "")
	}
	for before, pieces := range map[string][]string{
		"text: |\n  ":    {"\r", "\r\n", "\n", "\n  ", " \n  ", "a\n  ", "a\r  "},
		"map:\n  a: '":   {"a\n   ", "''\n    ", "\n"},
		"map:\n  a: b\n": {"    a\n", "   a b\n"},
		"text: >-\n  ":   {"\r", "\n\n  ", "a\n  ", "null "},
		"text: \"":       {"\t", "\\n", "a\n  ", "\n  "},
		"text: '":        {"''", "\n ", "a\n  "},
		"text: [":        {",", "a,", "a: ", "[a],"},
		"text: a\n  ":    {"a\n  ", "\n  ", "# a\n  "},
		"{\"text\": ":    {",", "a,", "a\n", "- ", "{\"a\":", "[", "\"a\":1,"},
	} {
		for _, piece := range pieces {
			addRepeated(before, piece, "")
		}
	}
	addRepeated("text: \"", "\t", "\"\n# x\n")
	var lines, members, stairs strings.Builder
	for i := 0; lines.Len() < size-100; i++ {
		fmt.Fprintf(&lines, "a%d: 1\n", i)
	}
	for i := 0; members.Len() < size-100; i++ {
		fmt.Fprintf(&members, `"a%d":1,`, i)
	}
	for i := 0; stairs.Len() < size-3000; i++ {
		stairs.WriteString(strings.Repeat(" ", min(i, 2000)) + "a:\n")
	}
	docs["fields"] = lines.String()
	docs["fields in a map"] = "a:\n  " + strings.ReplaceAll(lines.String(), "\n", "\n  ")
	docs["fields in braces"] = "{" + strings.ReplaceAll(lines.String(), "\n", ", ") + "}"
	docs["members"] = "{" + members.String() + `"a":1}`
	docs["members in a map"] = `{"map":{` + members.String() + `"a":1}}`
	docs["stairs"] = stairs.String()
	docs["deep around much"] = strings.Repeat(`{"a":`, 9_000) + `"` + strings.Repeat("x",
		max(size-60_000, 0)) + `"` + strings.Repeat("}", 9_000)
	laughs := "a0: &a0 x\n"
	for i := 1; i < 30; i++ {
		laughs += fmt.Sprintf("b%d: &a%d {a: *a%d, b: *a%d, c: *a%d, d: *a%d}\n", i, i, i-1, i-1, i-1, i-1)
	}
	docs["aliases that multiply"] = laughs
	return docs
}

// TestD15NoDocumentIsTooMuch checks that no document in a registry makes a leader allocate too much memory.
func TestD15NoDocumentIsTooMuch(t *testing.T) { // not parallel: the memory of other tests would count
	// The limit is for documents of a quarter of the allowed size, and for those that are refused for their size.
	const limit = 50 << 20
	for _, size := range []int{2 << 20, maxStoredBytes / 4} {
		for name, doc := range hostile(size) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := everythingSchema().DecodeStored([]byte(doc))
			runtime.ReadMemStats(&after)
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > limit {
				t.Errorf("%s, %d bytes: %d MiB were allocated", name, len(doc), allocated>>20)
			}
			if err != nil && len(err.Error()) > 400 {
				t.Errorf("%s: the error has %d bytes: %.300v", name, len(err.Error()), err)
			}
		}
	}
}

// Messages name the exceeded bound, and documents that are merely long are read.
func TestErrorsNameTheExceededBound(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0=a,", 120_000)
	for doc, want := range map[string]string{
		strings.Repeat("x", maxStoredBytes+1):              "1048577 bytes, at most 1048576 are read",
		strings.Repeat("{\"a\":", 20):                      "nested too deep (more than 16 maps and lists)",
		strings.Repeat("a: 1\n", maxFields+1):              "more than 65536 lines",
		`{"a":[` + strings.Repeat("1,", maxFields) + "1]}": "more than 65536 fields",
		"a: &a {b: *a}\n":                                  "too large with its aliases written out",
		"text: " + long + "\n":                             "", "text: '" + long + ": '\n": "",
		"text: \"" + long + "\\n\"\n": "", `{"text":"` + long + `"}`: "",
		"map:\n  'a b': " + long + "\n": "", "text: one\n" + strings.Repeat("  more of it\n", 60_000): "",
		"text: 'one:\n" + strings.Repeat("\n  it''s: more\n", 30_000) + "  end'\n": "",
	} {
		_, _, err := everythingSchema().DecodeStored([]byte(doc))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40q… of %d bytes: %v, wanted %q", doc, len(doc), err, want)
		}
	}
}

// FuzzStored checks that any document stays within the bounds, and that what was read is written and read back
// unchanged.
func FuzzStored(f *testing.F) {
	for _, file := range []string{"../../app/testdata/app-3.0.1.yaml", "../../app/testdata/app-2.1.5.json",
		"../../jobs/testdata/script-3.0.1.yaml", "../../jobs/testdata/job-2.1.5.json"} {
		doc, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc)
	}
	for _, doc := range hostile(300) {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, notes, err := everythingSchema().DecodeStored(doc)
		if len(notes) > maxFieldViolations || err != nil && len(err.Error()) > 20_000 {
			t.Fatalf("%d notes, an error of %d bytes", len(notes), len(fmt.Sprint(err)))
		}
		if err != nil || len(everythingSchema().CheckText(got)) > 0 {
			return
		}
		if again, _, err := everythingSchema().DecodeStored(everythingSchema().EncodeYAML(got)); err != nil ||
			fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", got) {
			t.Fatalf("%+v\nwritten and read again is %+v, %v", got, again, err)
		}
	})
}
