package whole_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
)

// changed compares two answers about an execution that has ended. It fails the test if anything but the life differs.
// The life comes from the history, whose last rows may not be in the database yet. changed returns "" if the life still
// has all its earlier moments and contains the end, and otherwise what is missing.
func changed(t *testing.T, before, now string) string {
	t.Helper()
	wasLife, was := splitLife(t, before)
	life, is := splitLife(t, now)
	if !reflect.DeepEqual(was, is) {
		t.Fatalf("an execution had ended as\n%s\nand is now\n%s", before, now)
	}
	for moment := range wasLife {
		if !life[moment] {
			return fmt.Sprintf("its life contained %v:\n%s\nand no longer does:\n%s", moment, before, now)
		}
	}
	for moment := range life {
		if moment.Kind == "ENDED" {
			return ""
		}
	}
	return "its life has no end: " + now
}

// moment is a moment in an execution's life. It leaves out the time since the previous moment, which changes if the row
// of an earlier one arrives later.
type moment struct {
	Time, Kind, TaskID, Message string
}

// splitLife returns the life in an answer about an execution, and the other fields.
func splitLife(t *testing.T, execution string) (life map[moment]bool, rest map[string]any) {
	t.Helper()
	var moments struct{ Life []moment }
	if err := errors.Join(json.Unmarshal([]byte(execution), &moments),
		json.Unmarshal([]byte(execution), &rest)); err != nil {
		t.Fatal(err)
	}
	life = map[moment]bool{}
	for _, m := range moments.Life {
		life[m] = true
	}
	delete(rest, "life")
	delete(rest, "lifeNote") // why it cannot be read now
	return life, rest
}
