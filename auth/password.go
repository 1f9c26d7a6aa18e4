package auth

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/argon2"
)

// argonParams are the cost parameters of a hash. Each stored hash contains its own, so that they can change.
type argonParams struct {
	memory, passes uint32 // memory in KiB
	threads        uint8
}

// defaultParams are the parameters of new hashes: the first choice of OWASP's Password Storage Cheat Sheet. maxParams
// bounds the parameters of stored hashes, so that a manipulated document can't use up the memory.
var (
	defaultParams = argonParams{memory: 19 * 1024, passes: 2, threads: 1}
	maxParams     = argonParams{memory: 256 * 1024, passes: 16, threads: 16}
	errBadHash    = errors.New("a stored password hash can't be read")
	hashBase64    = base64.RawStdEncoding.Strict()
	saltBytes     = 16
	hashedBytes   = 32
)

const (
	// maxConcurrent is the number of hashes that are computed simultaneously, each with its memory. maxWaiting is the
	// length of each of the two queues.
	maxConcurrent = 2
	maxWaiting    = 16
)

// passwordHash is argon2id in PHC format: $argon2id$v=19$m=19456,t=2,p=1$salt$hash. It is printed nowhere but in the
// document.
type passwordHash string

func (passwordHash) String() string { return "(hidden)" }

// GoString hides the hash too.
func (passwordHash) GoString() string { return "(hidden)" }

// hasher computes and verifies hashes, few at a time: one takes 19 MiB and about 30 ms.
type hasher struct {
	running chan struct{}
	nobody  passwordHash // matches no password; used for logins of unknown users
	// untrusted and trusted are the queues: one for logins from a new address, one for all other callers. A flood of
	// the former, from any number of addresses, fills only its own queue.
	untrusted, trusted queue
}

// queue holds one token per waiting caller.
type queue chan struct{}

func newHasher() *hasher {
	return &hasher{running: make(chan struct{}, maxConcurrent), untrusted: make(queue, maxWaiting),
		trusted: make(queue, maxWaiting),
		nobody:  formatHash(defaultParams, randomBytes(saltBytes), randomBytes(hashedBytes))}
}

// acquire waits in a queue for its turn to compute a hash. It fails at once if the queue is full.
func (h *hasher) acquire(ctx context.Context, in queue) (done func(), err error) {
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

// make computes the hash of a new password. Only authenticated users can cause a call.
func (h *hasher) make(ctx context.Context, password string) (passwordHash, error) {
	done, err := h.acquire(ctx, h.trusted)
	if err != nil {
		return "", err
	}
	defer done()
	p, salt := defaultParams, randomBytes(saltBytes)
	return formatHash(p, salt, argon2.IDKey([]byte(password), salt, p.passes, p.memory, p.threads,
		uint32(hashedBytes))), nil
}

// verify reports whether a password matches a hash. Its time depends only on the parameters of the hash.
func (h *hasher) verify(ctx context.Context, in queue, stored passwordHash, password string) (bool, error) {
	p, salt, want, err := parseHash(stored)
	if err != nil {
		return false, err
	}
	done, err := h.acquire(ctx, in)
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
		return p, nil, nil, errBadHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.passes, &p.threads); err != nil {
		return p, nil, nil, errBadHash
	}
	salt, saltErr := hashBase64.DecodeString(parts[4])
	hash, hashErr := hashBase64.DecodeString(parts[5])
	within := p.passes >= 1 && p.passes <= maxParams.passes && p.threads >= 1 && p.threads <= maxParams.threads &&
		p.memory >= 8*uint32(p.threads) && p.memory <= maxParams.memory
	if saltErr != nil || hashErr != nil || len(salt) < 8 || len(hash) < 16 || len(hash) > 64 || !within {
		return p, nil, nil, errBadHash
	}
	return p, salt, hash, nil
}
