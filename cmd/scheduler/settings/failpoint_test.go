package settings

import (
	"strings"
	"testing"
)

func TestFailurePoints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "before-commit": "", "after-ack:3": "",
		"none": "unknown failure point", "before-commit:0": "name:n", "before-commit:x": "name:n"} {
		at, err := failpoint(text)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)), want == "" &&
			err != nil, (at != nil) != (text != "" && want == ""):
			t.Errorf("%q: %v", text, err)
		}
	}
	at, err := failpoint("after-ack:3")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		at("after-ack")
		at("before-ack")
	} // a third call would kill this process
}
