package local

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/internal/wholefile"
)

// Credentials are a principal and its secret. If they are printed, the secret is hidden.
type Credentials = apihttp.Credentials

// principal is the scheduler's principal in its own cluster.
const principal = "elasticjob"

// secrets is the content of secrets.json, which only its owner can read.
type secrets struct {
	Principal string `json:"principal"`
	Secret    string `json:"secret"`
	// ExecutorKey signs the tokens of executors. The key of the agents' authority is derived from it (package
	// identity). It must not change, because executors that run across a restart keep their tokens and the authority.
	ExecutorKey string `json:"executor_key"`
}

// key returns the executor key; nil without credentials.
func (s *secrets) key() apihttp.TokenKey {
	if s == nil {
		return nil
	}
	return apihttp.TokenKey(s.ExecutorKey)
}

// openSecrets reads the secrets, or creates them at the first start.
func openSecrets(path string) (*secrets, error) {
	var s secrets
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeSecrets(path)
	}
	var content []byte
	if err == nil {
		content, err = os.ReadFile(path)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("%w; make it readable for the user who starts this", err)
	case info.Mode().Perm()&0o077 != 0:
		err = fmt.Errorf("others may read it (mode %04o); chmod it to 0600 if nobody has read it, or remove it and start with --give-up-executors for new ones", info.Mode().Perm())
	case json.Unmarshal(content, &s) != nil || s.Principal == "" || s.Secret == "" || s.ExecutorKey == "":
		err = errors.New("it is damaged; remove it and start with --give-up-executors for new ones")
	}
	if err != nil {
		return nil, fmt.Errorf("read the credentials in %s: %w", path, err)
	}
	return &s, nil
}

// makeSecrets creates and stores new secrets.
func makeSecrets(path string) (*secrets, error) {
	s := &secrets{Principal: principal, Secret: random(), ExecutorKey: random()}
	if err := wholefile.WriteJSON(path, s); err != nil {
		return nil, fmt.Errorf("store the credentials for the next run: %w", err)
	}
	return s, nil
}

// random returns 256 random bits in hex, which needs no escaping anywhere.
func random() string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never returns an error
	return hex.EncodeToString(bits[:])
}
