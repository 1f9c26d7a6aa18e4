package auth_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/auth"
)

func BenchmarkAuthenticate(b *testing.B) {
	d := open(b, auth.Options{FileToken: "token-of-a-file"})
	addUser(b, d, "ann", viewer)
	for n := range 500 {
		if _, _, err := d.AddToken(b.Context(), actor, fmt.Sprintf("token%d", n), viewer, time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
	api, _, err := d.AddToken(b.Context(), actor, "ci", viewer, time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	in, _ := login(b, d, "ann")
	for name, token := range map[string]string{"API token": api, "login": in, "token file": "token-of-a-file",
		"unknown": "ejt_" + api[5:]} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = d.Authenticate(token)
			}
		})
	}
}

func BenchmarkLogin(b *testing.B) {
	d := open(b, auth.Options{})
	addUser(b, d, "ann", viewer)
	b.ReportAllocs()
	for b.Loop() {
		login(b, d, "ann")
	}
}

func BenchmarkChange(b *testing.B) {
	d := open(b, auth.Options{})
	addUser(b, d, "ann", viewer)
	for n := 0; b.Loop(); n++ {
		g := admin
		if n%2 == 1 {
			g = viewer
		}
		if _, err := d.ChangeUser(b.Context(), actor, "ann", g); err != nil {
			b.Fatal(err)
		}
		if n%100 == 0 {
			var ids []string
			for _, row := range d.PendingAudit() {
				ids = append(ids, row.ID)
			}
			if err := d.TakeAudit(b.Context(), ids); err != nil {
				b.Fatal(err)
			}
		}
	}
}
