package database

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// A row has a reason twice: as an English sentence, which people query, and as a value, {"code":…,"args":{…}}, by
// which programs tell it from others and the console says it in its reader's language.

// mostValue is how many characters a value's column holds. A value can't be cut, as the sentence can.
const mostValue = 4000

// valueOf is a reason's value, or NULL: where there is no reason, for a text, which is the sentence, and for what is
// too long for the column.
func valueOf(r reason.Reason) any {
	if r.IsZero() || r.Is(reason.PlainText) {
		return nil
	}
	value, err := r.MarshalJSON()
	if err != nil || utf8.RuneCount(value) > mostValue {
		return nil
	}
	return string(value)
}

// codeOf is the code of a row's reason and its arguments. A sentence without a value, such as a row of an earlier
// release has, is a text; so is one whose value is none, since somebody has changed it.
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
