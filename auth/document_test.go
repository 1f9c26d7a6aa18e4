package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
)

func emptyDocument(t testing.TB) accessDocument {
	t.Helper()
	d := newDocument()
	return d
}

// TestDocumentFits checks that a full document fits into the registry, and that the error names the full part.
func TestDocumentFits(t *testing.T) {
	t.Parallel()
	full := func(add func(n int, d *accessDocument), d *accessDocument) error {
		before := *d
		for n := 0; ; n++ {
			add(n, d)
			if n%200 != 0 {
				continue
			}
			if _, err := d.encode(); err != nil {
				*d = before
				return err
			}
			before = *d
		}
	}
	d := emptyDocument(t)
	err := full(func(n int, d *accessDocument) {
		d.Users = append(d.Users, user{Name: fmt.Sprintf("user%d", n),
			Hash: formatHash(defaultParams, make([]byte, 16), make([]byte, 32)), Grant: Grant{Role: Viewer},
			Generation: strings.Repeat("a", 16), Created: start})
	}, &d)
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "scheduler user rm") || len(d.Users) < 1500 {
		t.Errorf("%d users: %v", len(d.Users), err)
	}
	err = full(func(n int, d *accessDocument) {
		d.Audit = append(d.Audit, event.Audit{ID: fmt.Sprint(n), Time: start, Action: "user.add",
			TargetName: strings.Repeat("n", maxName), After: strings.Repeat("\"", 100)})
	}, &d)
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "start a server") {
		t.Errorf("%d audit rows: %v", len(d.Audit), err)
	}
	err = nil
	for n := range 400 {
		d.Revoked = append(d.Revoked, revocation{Session: fmt.Sprintf("%015x", n), Kind: OIDC,
			Name: fmt.Sprintf("%0200d", n), Until: start.Add(time.Hour)})
	}
	for n := 0; err == nil; n++ {
		err = d.revoke(revocation{Session: fmt.Sprintf("%016x", n), Kind: OIDC, Name: fmt.Sprintf("%0200d", n),
			Until: start.Add(time.Hour)}, start)
	}
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "password") {
		t.Errorf("%d logouts: %v", len(d.Revoked), err)
	}
	text, err := d.encode()
	if err != nil || len(text) > registry.MaxValue || len(text) < 850_000 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if again, err := parseDocument(text); err != nil || len(again.Users) != len(d.Users) ||
		string(again.Keys.Login) != string(d.Keys.Login) {
		t.Errorf("read again: %v", err)
	}
}

// TestLogoutsOfOneDoNotHinderOthers checks that a user with too many logouts loses only the user's own other logins.
func TestLogoutsOfOneDoNotHinderOthers(t *testing.T) {
	t.Parallel()
	d := emptyDocument(t)
	end := func(name, session string) {
		t.Helper()
		if err := d.revoke(revocation{Session: session, Kind: User, Name: name, Until: start.Add(time.Hour)},
			start); err != nil {
			t.Fatal(err)
		}
	}
	end("ann", "a")
	for n := range 1690 {
		d.Revoked = append(d.Revoked, revocation{Session: fmt.Sprintf("%016x", n), Kind: User, Name: "mallory",
			Until: start.Add(time.Hour)})
	}
	for n := range 40 {
		end("mallory", fmt.Sprintf("%015x", n))
	}
	end("ben", "b")
	s := newSnapshot(d, registry.Entry{})
	until := s.revokedUntil[subjectKey(User, "mallory")]
	if !s.revoked["a"] || !s.revoked["b"] || !until.Equal(start) || len(s.revokedUntil) != 1 {
		t.Errorf("%d revoked, revoked until %v", len(s.revoked), s.revokedUntil)
	}
	late, few := start.Add(30*24*time.Hour), len(d.Revoked)
	if err := d.revoke(revocation{Session: "c", Kind: User, Name: "cid", Until: late.Add(time.Hour)},
		late); err != nil || len(d.Revoked) != few+1 {
		t.Errorf("with room for all, %d of %d are kept: the clock may be wrong; %v", len(d.Revoked), few+1, err)
	}
	for n := range 1500 {
		d.Revoked = append(d.Revoked, revocation{Session: fmt.Sprintf("%016x", n), Kind: User, Name: "mallory",
			Until: start.Add(time.Hour)})
	}
	if err := d.revoke(revocation{Session: "d", Kind: User, Name: "cid", Until: late.Add(time.Hour)},
		late); err != nil || len(d.Revoked) != 2 {
		t.Errorf("expired revocations are kept: %d, %v", len(d.Revoked), err)
	}
}

// TestDamagedDocumentsAreRefused checks that a damaged document is refused without being printed.
func TestDamagedDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	d := emptyDocument(t)
	d.Users = []user{{Name: "ann", Hash: "$argon2id$secret", Grant: Grant{Role: Admin}}}
	good, err := d.encode()
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"nothing": "", "null": "null", "cut": string(good[:len(good)-1]), "without keys": `{"users":[]}`,
		"short keys": `{"keys":{"login":"AAAA","proof":"AAAA"}}`,
		"twice":      string(good) + string(good), "an unknown role": strings.Replace(string(good), `"admin"`,
			`"root"`, 1), "no role": strings.Replace(string(good), `"admin"`, `""`, 1),
	} {
		if _, err := parseDocument([]byte(text)); !errors.Is(err, errDamaged) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestSecretsShowNowhere checks that formatting hides secrets.
func TestSecretsShowNowhere(t *testing.T) {
	t.Parallel()
	d := emptyDocument(t)
	d.Keys.Login, d.Keys.Proof = key("login-key-in-letters"), key("proof-key-in-letters")
	d.Users = []user{{Name: "ann", Hash: "$argon2id$hash-in-letters"}}
	for _, format := range []string{"%v", "%+v", "%#v"} {
		for _, v := range []any{d, &d, d.Keys, d.Users, d.Users[0].Hash, newSnapshot(d, registry.Entry{})} {
			if text := fmt.Sprintf(format, v); strings.Contains(text, "in-letters") ||
				strings.Contains(text, "0x6c, 0x6f, 0x67") {
				t.Errorf("%s of %T: %s", format, v, text)
			}
		}
	}
	if text, err := json.Marshal(d.Users[0].account()); err != nil || strings.Contains(string(text), "letters") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestHashes checks that hashes with other parameters are read, and that invalid ones are refused.
func TestHashes(t *testing.T) {
	t.Parallel()
	h := newHasher()
	stored, err := h.hash(t.Context(), "password")
	if err != nil || !strings.HasPrefix(string(stored), "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Fatalf("%s, %v", string(stored), err)
	}
	other, err := h.hash(t.Context(), "password")
	if err != nil || other == stored {
		t.Errorf("without salt: %v", err)
	}
	for _, c := range []struct {
		stored   passwordHash
		password string
		right    bool
	}{
		{stored, "password", true}, {stored, "Password", false}, {stored, "", false}, {stored, "password\x00", false},
		{h.dummy, "", false}, {h.dummy, "password", false},
	} {
		if right, err := h.verify(t.Context(), h.trusted, c.stored, c.password); err != nil || right != c.right {
			t.Errorf("%q: %v, %v", c.password, right, err)
		}
	}
	salt := hashBase64.EncodeToString(make([]byte, 16))
	sum := hashBase64.EncodeToString(make([]byte, 32))
	for _, bad := range []string{
		"", "$", "password", "$argon2i$v=19$m=64,t=1,p=1$" + salt + "$" + sum,
		"$argon2id$v=16$m=64,t=1,p=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=4294967295,t=1,p=1$" + salt + "$" + sum, "$argon2id$v=19$m=64,t=4000000,p=1$" + salt + "$" +
			sum,
		"$argon2id$v=19$m=64,t=0,p=1$" + salt + "$" + sum, "$argon2id$v=19$m=64,t=1,p=0$" + salt + "$" + sum,
		"$argon2id$v=19$m=4,t=1,p=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=64,t=1,p=1$$" + sum, "$argon2id$v=19$m=64,t=1,p=1$" + salt + "$",
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + sum + "$",
	} {
		if _, err := h.verify(t.Context(), h.trusted, passwordHash(bad), "password"); !errors.Is(err, errBadHash) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
