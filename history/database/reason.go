package database

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// A row stores a reason twice: as an English sentence, which users read in their own queries, and as a value,
// {"code":…,"args":{…}}, for programs and for the console, which shows it in the reader's language.

// maxValue is the greatest length of a value that its column holds, in characters. Unlike a
// sentence, a longer value can't be cut.
const maxValue = 4000

// valueOf returns the value of a reason. It returns NULL for no reason, for plain text, which the sentence contains,
// and for a value that is too long for its column.
func valueOf(r reason.Reason) any {
	if r.IsZero() || r.Is(reason.PlainText) {
		return nil
	}
	value, err := r.MarshalJSON()
	if err != nil || utf8.RuneCount(value) > maxValue {
		return nil
	}
	return string(value)
}

// codeOf returns the code and the arguments of a row's reason. A sentence is plain text if it has no value, as in rows
// of earlier releases, or if the value can't be parsed, because someone has edited it.
func codeOf(sentence, value *string) (code string, args map[string]any) {
	var r reason.Reason
	if value == nil || json.Unmarshal([]byte(*value), &r) != nil || r.IsZero() {
		if sentence == nil {
			return "", nil
		}
		r = reason.FromText(*sentence)
	}
	return string(r.Code()), r.Args()
}
