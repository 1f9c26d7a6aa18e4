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
	maxAudit    = 200_000 // rows that wait for a leader: about 600
	maxRevoked  = 150_000 // revoked logins: about 1,200
	// maxChanges is the number of change ids that are kept, so that a caller without an answer can find out
	// whether its change was made.
	maxChanges = 32
)

// accessDocument contains the users, tokens and keys. One write changes everything that belongs together, including
// its audit rows.
type accessDocument struct {
	Keys    keys          `json:"keys"`
	Users   []user        `json:"users,omitempty"`
	Tokens  []apiToken    `json:"tokens,omitempty"`
	Revoked []revocation  `json:"revoked,omitempty"`
	Audit   []event.Audit `json:"audit,omitempty"`
	Changes []string      `json:"changes,omitempty"`
}

// keys are random, and created with the document. With them, anyone can impersonate anyone.
type keys struct {
	// Login signs login tokens, Proof signs the codes of Access.Sign.
	Login key `json:"login"`
	Proof key `json:"proof"`
}

const keyBytes = 32

// key is a secret that is printed nowhere but in the document.
type key []byte

func (key) String() string { return "(hidden)" }

// GoString hides the key too.
func (key) GoString() string { return "(hidden)" }

type user struct {
	Name string       `json:"name"`
	Hash passwordHash `json:"hash"`
	Grant
	// Generation changes with each change of password, role or apps. Login tokens of earlier generations are invalid.
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

// revocation invalidates a login token, or, without a session, all tokens issued to a subject until a time.
type revocation struct {
	Session string    `json:"session,omitempty"`
	Kind    Kind      `json:"kind"`
	Name    string    `json:"name"`
	Before  time.Time `json:"before,omitzero"`
	// Until is when the invalidated tokens have expired anyway.
	Until time.Time `json:"until"`
}

func newKeys() keys { return keys{Login: randomBytes(keyBytes), Proof: randomBytes(keyBytes)} }

// newDocument creates a document without users and tokens.
func newDocument() accessDocument { return accessDocument{Keys: newKeys()} }

// replaceKeys invalidates all logins.
func (d *accessDocument) replaceKeys(k keys) { d.Keys, d.Revoked = k, nil }

// parseDocument reads a stored document. Its error contains nothing of the document.
func parseDocument(value []byte) (d accessDocument, err error) {
	if json.Unmarshal(value, &d) != nil || len(d.Keys.Login) != keyBytes || len(d.Keys.Proof) != keyBytes {
		return accessDocument{}, errDamaged
	}
	return d, nil
}

var errDamaged = errors.New("it is damaged: restore a copy of it, or delete it and start a server to begin without users and tokens")

// encode writes the document. The error is ErrFull if a part of it exceeds its bound.
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
		return nil, fmt.Errorf("%w: %d changes of users and tokens wait for the audit, without which nothing is changed: start a server, which takes them into the audit", ErrFull, len(d.Audit)-1)
	}
	return json.Marshal(d)
}

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
	all := func(g Grant) bool { return g.Includes(Admin) && g.Unrestricted() }
	return slices.ContainsFunc(d.Users, func(u user) bool { return all(u.Grant) }) ||
		slices.ContainsFunc(d.Tokens, func(t apiToken) bool { return all(t.Grant) && t.Expires.IsZero() })
}

func (d *accessDocument) user(name string) *user {
	i := slices.IndexFunc(d.Users, func(u user) bool { return u.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Users[i]
}

func (d *accessDocument) token(name string) *apiToken {
	i := slices.IndexFunc(d.Tokens, func(t apiToken) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Tokens[i]
}

// revoke adds a revocation. If there is no room for another one, the revocations of the subject that has the most are
// merged into one that invalidates all login tokens of that subject.
func (d *accessDocument) revoke(r revocation, now time.Time) error {
	// Expired ones are kept while there is room: if the clock is wrong, they are needed once it is right.
	if size, err := sizeOf(d.Revoked); err != nil || size > maxRevoked/2 {
		d.Revoked = slices.DeleteFunc(d.Revoked,
			func(old revocation) bool { return now.After(old.Until.Add(clockSlack)) })
	}
	if r.Session == "" { // it includes the subject's earlier revocations
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
	ended   map[string]time.Time // by kind and name: tokens issued until then are invalid
}

func newSnapshot(d accessDocument, stored registry.Entry) *snapshot {
	s := &snapshot{
		accessDocument: d, version: stored.Version, value: sha256.Sum256(stored.Value),
		users: map[string]*user{}, tokens: map[string]*apiToken{}, revoked: map[string]bool{},
		ended: map[string]time.Time{},
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
		} else if key := subjectKey(r.Kind, r.Name); r.Before.After(s.ended[key]) {
			s.ended[key] = r.Before
		}
	}
	return s
}

func subjectKey(k Kind, name string) string { return string(k) + " " + name }
