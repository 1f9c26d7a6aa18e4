package jobs_test

import (
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/jobs"
)

// TestIDsAreHidden checks that only the owner of an id decides whether it is hidden, and not the sentence around it.
func TestIDsAreHidden(t *testing.T) {
	t.Parallel()
	visible := func(name string, isApp bool) bool { return name == "mine" && !isApp || name == "my.app" && isApp }
	for _, sentence := range []string{
		"X", "it waits for execution X.", "execution X tries it now", "X, X and 2 more", "POST /api/task/X/forget",
		`"X"`, "(X)", "X: broken", "what is X", "/slaves/S1/executors/X/runs/1", "X; then X",
	} {
		for id, hidden := range map[string]bool{
			"mine@20260501T120000Z":                                false,
			"mine@20260501T120000Z-0f8e12ab":                       false,
			"mine@-@0@-@READY@-@S1@-@0f8e":                         false,
			"my.app@-@S1@-@3":                                      false,
			"my.app@-@20150430-210834-1511367328-5050-8499-S0":     false, // in the original's format
			"theirs@20260501T120000Z":                              true,
			"theirs@20260501T120000Z-0f8e12ab":                     true,
			"theirs@key-0f8e12ab34cd56ef":                          true,
			"theirs@import-20260501T120000.000Z-001":               true,
			"theirs@import-20260501T120000.000Z-failover":          true,
			"theirs@-@0@-@READY@-@node-1.example.com@-@0f8e-12":    true,
			"theirs@-@12@-@FAILOVER@-@S1@-@0f8e":                   true,
			"theirs.app@-@S1@-@3":                                  true,
			"theirs.app@-@20150430-210834-1511367328-5050-8499-S0": true,
			"mine@-@S1@-@3":                                        true, // an app with the name of the job
			"my.app@-@3@-@READY@-@S1@-@0f8e":                       true, // a job with the name of the app
			"not-mine@20260501T120000Z":                            true,
		} {
			text := strings.ReplaceAll(sentence, "X", id)
			want := text
			if hidden {
				want = strings.ReplaceAll(sentence, "X", "of another app")
			}
			if got := jobs.HideIDs(text, "of another app", visible); got != want {
				t.Errorf("%q is shown as %q, want %q", text, got, want)
			}
		}
	}
	for _, text := range []string{"", "mail to ops@example.com", "image@sha256:ab", "me@key",
		"https://me:x@host/20260501T120000Z", "at 20260501T120000Z", "@-@", "a @-@ b"} {
		if got := jobs.HideIDs(text, "-", visible); got != text {
			t.Errorf("%q without an id is shown as %q", text, got)
		}
	}
}
