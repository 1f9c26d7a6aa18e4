package zookeeper

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// answers are the errors of the library that are a server's answer, or that no server was asked. After any other nobody knows what
// became of a request, or it was not looked at and may be sent again.
var answers = []error{
	zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL,
	zk.ErrNoChildrenForEphemerals, zk.ErrAPIError, zk.ErrBadArguments, zk.ErrInvalidPath, zk.ErrShortBuffer,
}

const (
	codeConnectionLoss   zk.ErrCode = -4
	codeOperationTimeout zk.ErrCode = -7
	codeRequestTimeout   zk.ErrCode = -122
	codeWantsSASL        zk.ErrCode = -124
	codeQuotaExceeded    zk.ErrCode = -125
	codeThrottled        zk.ErrCode = -127
)

var silentCodes = []zk.ErrCode{codeConnectionLoss, codeOperationTimeout, codeRequestTimeout, codeThrottled}

// answered reports whether the error is a server's answer, and not silence: what it is about was
// looked at and not done.
func answered(err error) bool {
	code, ok := codeOf(err)
	return ok && !slices.Contains(silentCodes, code) || slices.ContainsFunc(answers, func(a error) bool { return errors.Is(err, a) })
}

// refusal is a server's answer with a sentence that says what to do.
type refusal struct {
	error
	answer error
}

func (r refusal) Unwrap() []error { return []error{r.error, r.answer} }

// codeOf is the number of an answer that has no error of its own. The library gives it in words only.
func codeOf(err error) (zk.ErrCode, bool) {
	var r refusal
	if errors.As(err, &r) {
		err = r.answer
	}
	for ; err != nil; err = errors.Unwrap(err) {
		var code int32
		if n, _ := fmt.Sscanf(err.Error(), "unknown error: %d", &code); n == 1 {
			return zk.ErrCode(code), true
		}
	}
	return 0, false
}

// explain turns a refusal into a sentence that says what to do. What no time
// heals is registry.ErrUnusable. The path is ZooKeeper's.
func (p *place) explain(doing, path string, err error) error {
	code, _ := codeOf(err)
	switch {
	case code == codeWantsSASL:
		return fmt.Errorf("%w: %w", registry.ErrUnusable, p.refused(doing, path, err))
	case errors.Is(err, zk.ErrNoAuth):
		return refusal{fmt.Errorf("%w: %s %s: ZooKeeper gives no permission to %s: check --zk-digest-file, or the node's ACL with zkCli.sh getAcl %s",
			registry.ErrUnusable, doing, path, p.user(), path), err}
	case errors.Is(err, zk.ErrAuthFailed), errors.Is(err, zk.ErrInvalidACL):
		return fmt.Errorf("%w: %s %s: ZooKeeper does not accept %s: %w", registry.ErrUnusable, doing, path, p.user(), err)
	default:
		return p.refused(doing, path, err)
	}
}

// refused explains a refusal that is not of the whole registry. The path is ZooKeeper's.
func (p *place) refused(doing, path string, err error) error {
	what := doing + " " + path
	code, _ := codeOf(err)
	switch {
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrInvalidACL):
		return fmt.Errorf("%s: %s: %w", what, p.noPermission(path), err)
	case code == codeWantsSASL:
		return refusal{fmt.Errorf("%s: ZooKeeper wants SASL, which is not supported (error %d): take sessionRequireClientSASLAuth out of its servers' configuration, or let enforce.auth.schemes there have digest, and set --zk-digest-file",
			what, code), err}
	case code == codeQuotaExceeded:
		return refusal{fmt.Errorf("%s: the quota that somebody has set in ZooKeeper is exceeded (error %d): see zkCli.sh listquota %s, of it and of the nodes above and below, and raise it with setquota",
			what, code, p.root), err}
	case code != 0:
		return refusal{fmt.Errorf("%s: ZooKeeper refused it with error %d (KeeperException.Code; the servers' logs may say why)", what, code), err}
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// noPermission says who has none, and where to look.
func (p *place) noPermission(full string) string {
	return fmt.Sprintf("ZooKeeper gives no permission to %s: see zkCli.sh getAcl %s, and change it with setAcl", p.user(), full)
}
