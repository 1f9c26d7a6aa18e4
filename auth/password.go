package auth

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
)

// argonParams are what a password's hash costs. They stand in each stored hash, so that they can change.
type argonParams struct {
	memory, passes uint32 // memory in KiB
	threads        uint8
}

// What new hashes cost: the first choice of OWASP's Password Storage Cheat Sheet, and bounds of what is taken from a
// stored one, so that a document that somebody has changed can't take all of the memory.
var (
	newHashes   = argonParams{memory: 19 * 1024, passes: 2, threads: 1}
	mostOfHash  = argonParams{memory: 256 * 1024, passes: 16, threads: 16}
	errNoHash   = errors.New("a stored password hash can't be read")
	hashBase64  = base64.RawStdEncoding.Strict()
	saltBytes   = 16
	hashedBytes = 32
)

const (
	// atOnce hashes are made at the same time, each with its memory, and mostWaiting wait for their turn in each of
	// the two queues.
	atOnce      = 2
	mostWaiting = 16
)

// passwordHash is argon2id in PHC form: $argon2id$v=19$m=19456,t=2,p=1$salt$hash. It shows nowhere but in the
// document.
type passwordHash string

func (passwordHash) String() string { return "(hidden)" }

// GoString hides it too.
func (passwordHash) GoString() string { return "(hidden)" }

// hasher makes and checks hashes, few at once: one takes 19 MiB and some 30 ms.
type hasher struct {
	random  io.Reader
	running chan struct{}
	nobody  passwordHash // no password has it: what a login of an unknown user is checked with
	// strangers and known hold those who wait: logins of whom nobody knows yet, and all others. A flood of the first,
	// from however many addresses, fills a queue of its own, and leaves the other one open.
	strangers, known queue
}

// queue holds one for each who waits.
type queue chan struct{}

func newHasher(random io.Reader) (*hasher, error) {
	h := &hasher{random: random, running: make(chan struct{}, atOnce), strangers: make(queue, mostWaiting),
		known: make(queue, mostWaiting)}
	salt, hash := make([]byte, saltBytes), make([]byte, hashedBytes)
	for _, b := range [][]byte{salt, hash} {
		if _, err := io.ReadFull(random, b); err != nil {
			return nil, fmt.Errorf("read random bytes: %w", err)
		}
	}
	h.nobody = formatHash(newHashes, salt, hash)
	return h, nil
}

// turn waits in a queue until a hash may be made. When too many wait there, it says so at once.
func (h *hasher) turn(ctx context.Context, in queue) (done func(), err error) {
	select {
	case in <- struct{}{}:
	default:
		return nil, &TooMany{RetryAfter: time.Second}
	}
	defer func() { <-in }()
	select {
	case h.running <- struct{}{}:
		return func() { <-h.running }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to check a password: %w", ctx.Err())
	}
}

// make makes the hash of a new password, which nobody asks for who has not been let in.
func (h *hasher) make(ctx context.Context, password string) (passwordHash, error) {
	done, err := h.turn(ctx, h.known)
	if err != nil {
		return "", err
	}
	defer done()
	salt := make([]byte, saltBytes)
	if _, err := io.ReadFull(h.random, salt); err != nil {
		return "", fmt.Errorf("read random bytes: %w", err)
	}
	p := newHashes
	return formatHash(p, salt, argon2.IDKey([]byte(password), salt, p.passes, p.memory, p.threads,
		uint32(hashedBytes))), nil
}

// verify reports whether a password has a hash, in a time that depends on the hash's parameters only.
func (h *hasher) verify(ctx context.Context, in queue, stored passwordHash, password string) (bool, error) {
	p, salt, want, err := parseHash(stored)
	if err != nil {
		return false, err
	}
	done, err := h.turn(ctx, in)
	if err != nil {
		return false, err
	}
	defer done()
	got := argon2.IDKey([]byte(password), salt, p.passes, p.memory, p.threads, uint32(len(want)))
	return subtle.ConstantTimeCompare(want, got) == 1, nil
}

func formatHash(p argonParams, salt, hash []byte) passwordHash {
	return passwordHash(fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, p.passes,
		p.threads,
		hashBase64.EncodeToString(salt), hashBase64.EncodeToString(hash)))
}

func parseHash(stored passwordHash) (p argonParams, salt, hash []byte, err error) {
	parts := strings.Split(string(stored), "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return p, nil, nil, errNoHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.passes, &p.threads); err != nil {
		return p, nil, nil, errNoHash
	}
	salt, saltErr := hashBase64.DecodeString(parts[4])
	hash, hashErr := hashBase64.DecodeString(parts[5])
	within := p.passes >= 1 && p.passes <= mostOfHash.passes && p.threads >= 1 && p.threads <= mostOfHash.threads &&
		p.memory >= 8*uint32(p.threads) && p.memory <= mostOfHash.memory
	if saltErr != nil || hashErr != nil || len(salt) < 8 || len(hash) < 16 || len(hash) > 64 || !within {
		return p, nil, nil, errNoHash
	}
	return p, salt, hash, nil
}
