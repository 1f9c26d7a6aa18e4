package settings

import (
	"testing"
	"time"
)

func TestZone(t *testing.T) {
	t.Parallel()
	if loc, err := Zone("Asia/Shanghai"); err != nil || loc.String() != "Asia/Shanghai" {
		t.Errorf("%v, %v", loc, err)
	}
	if _, err := Zone("Nowhere"); err == nil {
		t.Error("an unknown zone is accepted")
	}
	loc, err := Zone("Local")
	if err != nil || !sameZone(loc, time.Now()) {
		t.Fatalf("this machine's zone is %v, %v", loc, err)
	}
	const hour = 3600
	for east, want := range map[int]string{
		8 * hour: "Etc/GMT-8", -5 * hour: "Etc/GMT+5", 5*hour + 1800: "", 0: "Etc/GMT+0",
	} {
		if got := gmtName(east); got != want {
			t.Errorf("%d s east is %q, want %q", east, got, want)
		} else if loc, err := time.LoadLocation(got); got != "" && (err != nil || offsetOf(loc) != east) {
			t.Errorf("%q is %d s east, %v, want %d", got, offsetOf(loc), err, east)
		}
	}
	if time.Now().Location().String() == "UTC" && loc.String() == "Local" {
		t.Errorf("UTC has no name: %v", loc)
	}
}

func offsetOf(loc *time.Location) int {
	_, east := time.Now().In(loc).Zone()
	return east
}
