package settings

import (
	"strings"
	"testing"
)

func TestFailurePoints(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "before-commit": "", "after-ack:3": "",
		"none": "unknown failure point", "before-commit:0": "name:n", "before-commit:x": "name:n"} {
		reach, err := failpoint(text)
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)), want == "" &&
			err != nil, (reach != nil) != (text != "" && want == ""):
			t.Errorf("%q: %v", text, err)
		}
	}
	reach, err := failpoint("after-ack:3")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a third call with after-ack would kill this process
		reach("after-ack")
		reach("before-ack")
	}
}
