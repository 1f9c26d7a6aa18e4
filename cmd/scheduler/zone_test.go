package main

import (
	"testing"
	"time"
)

func TestZone(t *testing.T) {
	t.Parallel()
	if loc, err := zone("Asia/Shanghai"); err != nil || loc.String() != "Asia/Shanghai" {
		t.Errorf("%v, %v", loc, err)
	}
	if _, err := zone("Nowhere"); err == nil {
		t.Error("a zone that is none is taken")
	}
	loc, err := zone("Local")
	if err != nil || !sameZone(loc, time.Now()) {
		t.Fatalf("this machine's zone is %v, %v", loc, err)
	}
	if time.Now().Location().String() == "UTC" && loc.String() == "Local" {
		t.Errorf("UTC has no name: %v", loc)
	}
}
