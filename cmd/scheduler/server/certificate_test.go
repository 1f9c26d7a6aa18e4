package server

import (
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/test/certificates"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	ca := certificates.New(t)
	if got := warning(new(settings.Config), nil)(); got != "" {
		t.Error(got)
	}
	history := "history is lost"
	if got := warning(new(settings.Config), func() string { return history })(); got != history {
		t.Error(got)
	}
	dir := t.TempDir()
	cert, key := ca.Issue(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)).Write(t, dir)
	c, _ := parseSettings(t, "--local", "--tls-cert", cert, "--tls-key", key)
	if got := warning(&c, nil)(); !strings.HasPrefix(got, "the certificate of") {
		t.Error(got)
	}
	if got := warning(&c, func() string { return history })(); !strings.HasPrefix(got,
		history+"; the certificate of") {
		t.Error(got)
	}
	history = ""
	if got := warning(&c, func() string { return history })(); !strings.HasPrefix(got, "the certificate of") {
		t.Error(got)
	}
}
