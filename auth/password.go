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

var (
	// defaultParams are the parameters of new hashes: the first choice of OWASP's Password Storage Cheat Sheet.
	defaultParams = argonParams{memory: 19 * 1024, passes: 2, threads: 1}
	// maxParams bounds the parameters of stored hashes, so that a manipulated document can't exhaust the memory.
	maxParams = argonParams{memory: 256 * 1024, passes: 16, threads: 16}

	errBadHash = errors.New("a stored password hash can't be read")
	hashBase64 = base64.RawStdEncoding.Strict()
)

// The numbers of bytes in a new hash.
const (
	saltBytes = 16
	hashBytes = 32
)

const (
	// maxConcurrent is how many hashes are computed at the same time.
	maxConcurrent = 2
	// maxWaiting is how many callers each of the two queues admits.
	maxWaiting = 16
)

// passwordHash is an argon2id hash in PHC format: $argon2id$v=19$m=19456,t=2,p=1$salt$hash. Its methods hide it from
// logs and error messages.
type passwordHash string

// String hides the hash.
func (passwordHash) String() string { return "(hidden)" }

// GoString hides the hash too.
func (passwordHash) GoString() string { return "(hidden)" }

// hasher computes and verifies hashes of passwords, maxConcurrent at a time. Each takes 19 MiB and about 30 ms.
type hasher struct {
	running chan struct{} // has an element for each hash that is being computed
	dummy   passwordHash  // matches no password; logins of unknown users are checked against it
	// untrusted is the queue of logins from a new address, trusted the queue of all other callers. A flood of logins
	// from any number of new addresses fills only the untrusted queue.
	untrusted, trusted queue
}

// queue has an element for each waiting caller.
type queue chan struct{}

func newHasher() *hasher {
	return &hasher{running: make(chan struct{}, maxConcurrent), untrusted: make(queue, maxWaiting),
		trusted: make(queue, maxWaiting),
		dummy:   formatHash(defaultParams, randomBytes(saltBytes), randomBytes(hashBytes))}
}

// acquire waits in the queue until the caller may compute a hash. The caller calls release afterwards. If the queue is
// full, acquire returns *TooMany at once.
func (h *hasher) acquire(ctx context.Context, q queue) (release func(), err error) {
	select {
	case q <- struct{}{}:
	default:
		return nil, &TooMany{RetryAfter: time.Second}
	}
	defer func() { <-q }()
	select {
	case h.running <- struct{}{}:
		return func() { <-h.running }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to check a password: %w", ctx.Err())
	}
}

// hash computes the hash of a new password. It uses the trusted queue, because only authenticated users set passwords.
func (h *hasher) hash(ctx context.Context, password string) (passwordHash, error) {
	release, err := h.acquire(ctx, h.trusted)
	if err != nil {
		return "", err
	}
	defer release()
	p, salt := defaultParams, randomBytes(saltBytes)
	return formatHash(p, salt, argon2.IDKey([]byte(password), salt, p.passes, p.memory, p.threads, hashBytes)), nil
}

// verify reports whether the password matches the stored hash. The time of the computation depends only on the
// parameters of the hash, so it does not reveal how much of the password is right.
func (h *hasher) verify(ctx context.Context, q queue, stored passwordHash, password string) (bool, error) {
	p, salt, want, err := parseHash(stored)
	if err != nil {
		return false, err
	}
	release, err := h.acquire(ctx, q)
	if err != nil {
		return false, err
	}
	defer release()
	got := argon2.IDKey([]byte(password), salt, p.passes, p.memory, p.threads, uint32(len(want)))
	return subtle.ConstantTimeCompare(want, got) == 1, nil
}

// formatHash returns a hash in PHC format.
func formatHash(p argonParams, salt, hash []byte) passwordHash {
	return passwordHash(fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, p.memory, p.passes,
		p.threads, hashBase64.EncodeToString(salt), hashBase64.EncodeToString(hash)))
}

// parseHash returns the parts of a hash in PHC format. It returns errBadHash if the hash has another format, or if its
// parameters are out of bounds.
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
