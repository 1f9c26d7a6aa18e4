package auth

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/elasticjob-go/elasticjob/history/event"
	"github.com/elasticjob-go/elasticjob/registry"
)

// sharedName is the name of the access document among the shared values of the registry.
const sharedName = "access"

// The bounds of the document's parts in bytes of JSON. Their sum fits into registry.MaxValue.
const (
	maxAccounts = 600_000 // users and API tokens: about 2,000 of usual length
	maxAudit    = 200_000 // audit rows that no leader has moved yet: about 600
	maxRevoked  = 150_000 // revoked logins: about 1,200
	// maxChanges is the number of ids of the last changes that are stored. A process whose write has an unknown
	// outcome finds its id there if the change was made.
	maxChanges = 32
)

// accessDocument contains the users, tokens and keys, and the audit rows of their changes. It is one value, so that a
// change and its audit row are one write.
type accessDocument struct {
	Keys    keys          `json:"keys"`
	Users   []user        `json:"users,omitempty"`
	Tokens  []apiToken    `json:"tokens,omitempty"`
	Revoked []revocation  `json:"revoked,omitempty"`
	Audit   []event.Audit `json:"audit,omitempty"`
	Changes []string      `json:"changes,omitempty"`
}

// keys are random, and created with the document. Anyone who has them can act as any user.
type keys struct {
	// Login signs login tokens. Access.Sign signs with Proof.
	Login key `json:"login"`
	Proof key `json:"proof"`
}

const keyBytes = 32

// key is a secret. Its methods hide it from logs and error messages.
type key []byte

// String hides the key.
func (key) String() string { return "(hidden)" }

// GoString hides the key too.
func (key) GoString() string { return "(hidden)" }

type user struct {
	Name string       `json:"name"`
	Hash passwordHash `json:"hash"`
	Grant
	// Generation is a new random value after each change of password, role or apps, and after EndLogins. Login tokens
	// with another generation are invalid.
	Generation string    `json:"generation"`
	Created    time.Time `json:"created"`
}

type apiToken struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	Hash []byte `json:"hash"` // SHA-256 of the whole token, which is random and so can't be guessed
	Grant
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	By      string    `json:"by,omitempty"`
}

// revocation invalidates the login token of a session. Without a session it invalidates all login tokens that were
// issued to a subject until the time Before.
type revocation struct {
	Session string `json:"session,omitempty"`
	// Kind and Name are the subject, which is the principal of the login.
	Kind   Kind      `json:"kind"`
	Name   string    `json:"name"`
	Before time.Time `json:"before,omitzero"`
	// Until is when all invalidated tokens have expired, so that the revocation has no effect any more.
	Until time.Time `json:"until"`
}

func newKeys() keys { return keys{Login: randomBytes(keyBytes), Proof: randomBytes(keyBytes)} }

// newDocument creates a document without users and tokens.
func newDocument() accessDocument { return accessDocument{Keys: newKeys()} }

// replaceKeys sets other keys. If the key for logins differs, all logins become invalid, so it removes the
// revocations.
func (d *accessDocument) replaceKeys(k keys) { d.Keys, d.Revoked = k, nil }

// parseDocument reads a stored document. Its error does not contain any part of the document, which has secrets.
func parseDocument(value []byte) (d accessDocument, err error) {
	if json.Unmarshal(value, &d) != nil || len(d.Keys.Login) != keyBytes || len(d.Keys.Proof) != keyBytes {
		return accessDocument{}, errDamaged
	}
	return d, nil
}

var errDamaged = errors.New("it is damaged: restore a copy of it, or delete it and start a server to begin without users and tokens")

// encode returns the document as JSON. It returns ErrFull if the users and tokens, or the audit rows, exceed their
// bound.
func (d *accessDocument) encode() ([]byte, error) {
	accounts, err := sizeOf(d.Users, d.Tokens)
	if err != nil {
		return nil, err
	}
	if accounts > maxAccounts {
		return nil, fmt.Errorf("%w: users and tokens take more than the maximum of %d bytes: remove some first (scheduler user rm, scheduler token rm)", ErrFull, maxAccounts)
	}
	audit, err := sizeOf(d.Audit)
	if err != nil {
		return nil, err
	}
	if audit > maxAudit {
		return nil, fmt.Errorf("%w: %d changes of users and tokens wait for a leader to record them in the audit, and until then no more are made: start a server", ErrFull, len(d.Audit)-1)
	}
	return json.Marshal(d)
}

// sizeOf returns the number of bytes of the parts as JSON.
func sizeOf(parts ...any) (size int, err error) {
	for _, part := range parts {
		text, err := json.Marshal(part)
		if err != nil {
			return 0, fmt.Errorf("write the access document: %w", err)
		}
		size += len(text)
	}
	return size, nil
}

// hasAdmin reports whether there is an admin for all apps: a user, or a token that does not expire.
func (d *accessDocument) hasAdmin() bool {
	isAdmin := func(g Grant) bool { return g.Includes(Admin) && g.Unrestricted() }
	return slices.ContainsFunc(d.Users, func(u user) bool { return isAdmin(u.Grant) }) ||
		slices.ContainsFunc(d.Tokens, func(t apiToken) bool { return isAdmin(t.Grant) && t.Expires.IsZero() })
}

// user returns the user of this name, or nil.
func (d *accessDocument) user(name string) *user {
	i := slices.IndexFunc(d.Users, func(u user) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Users[i]
}

// token returns the API token of this name, or nil.
func (d *accessDocument) token(name string) *apiToken {
	i := slices.IndexFunc(d.Tokens, func(t apiToken) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Tokens[i]
}

// revoke adds a revocation. If the revocations exceed their bound, it merges those of the subject that has the most of
// them into one, which invalidates all login tokens of that subject. If they still exceed it, revoke returns ErrFull.
func (d *accessDocument) revoke(r revocation, now time.Time) error {
	// Expired revocations are kept while there is room: if the clock is wrong, they are needed once it is right.
	if size, err := sizeOf(d.Revoked); err != nil || size > maxRevoked/2 {
		d.Revoked = slices.DeleteFunc(d.Revoked,
			func(old revocation) bool { return now.After(old.Until.Add(clockSlack)) })
	}
	if r.Session == "" { // r includes the subject's earlier revocations
		d.Revoked = slices.DeleteFunc(d.Revoked,
			func(old revocation) bool { return old.Kind == r.Kind && old.Name == r.Name })
	}
	d.Revoked = append(d.Revoked, r)
	size, err := sizeOf(d.Revoked)
	if err == nil && size > maxRevoked {
		d.mergeRevocations(now)
		size, err = sizeOf(d.Revoked)
	}
	if err == nil && size > maxRevoked {
		err = fmt.Errorf("%w: %d logouts are kept until their logins have expired: wait, or change the user's password, which ends all logins of the user", ErrFull, len(d.Revoked)-1)
	}
	return err
}

// mergeRevocations replaces the revocations of the subject that has the most of them by one without a session.
func (d *accessDocument) mergeRevocations(now time.Time) {
	type subject struct {
		kind Kind
		name string
	}
	counts, most := map[subject]int{}, subject{}
	for _, r := range d.Revoked {
		s := subject{r.Kind, r.Name}
		if counts[s]++; counts[s] > counts[most] {
			most = s
		}
	}
	d.Revoked = slices.DeleteFunc(d.Revoked, func(r revocation) bool { return subject{r.Kind, r.Name} == most })
	d.Revoked = append(d.Revoked, revocation{Kind: most.kind, Name: most.name, Before: now,
		Until: now.Add(MaxLoginLifetime)})
}

// snapshot is a document with indexes. It is immutable.
type snapshot struct {
	accessDocument
	version int64
	value   [sha256.Size]byte // the hash of the stored document
	users   map[string]*user
	tokens  map[string]*apiToken // by id
	revoked map[string]bool      // by session
	// revokedUntil has a time for each subjectKey: login tokens that were issued until then are invalid.
	revokedUntil map[string]time.Time
}

// newSnapshot returns the snapshot of a document, which was parsed from the entry.
func newSnapshot(d accessDocument, stored registry.Entry) *snapshot {
	s := &snapshot{
		accessDocument: d, version: stored.Version, value: sha256.Sum256(stored.Value),
		users: map[string]*user{}, tokens: map[string]*apiToken{}, revoked: map[string]bool{},
		revokedUntil: map[string]time.Time{},
	}
	for i := range d.Users {
		s.users[d.Users[i].Name] = &d.Users[i]
	}
	for i := range d.Tokens {
		s.tokens[d.Tokens[i].ID] = &d.Tokens[i]
	}
	for _, r := range d.Revoked {
		if r.Session != "" {
			s.revoked[r.Session] = true
		} else if key := subjectKey(r.Kind, r.Name); r.Before.After(s.revokedUntil[key]) {
			s.revokedUntil[key] = r.Before
		}
	}
	return s
}

func subjectKey(k Kind, name string) string { return string(k) + " " + name }
