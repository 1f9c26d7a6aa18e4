package main

import (
	"testing"

	"github.com/elasticjob-go/elasticjob/client"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	for want, of := range map[string]*client.Progress{
		"":                     nil,
		" 0%":                  {},
		" 40% 4 of 10":         {Fraction: 0.4, Message: "4 of\n10"},
		" ignored on its pipe": {Notice: true, Message: "ignored on its pipe"},
	} {
		if got := progress(of); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
