package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/registry"
)

// silence are the errors after which nobody knows what became of a request, or that say that
// it was not looked at and may be sent again. All others are a server's answer.
var silence = []error{
	zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrClosing, zk.ErrSessionExpired, zk.ErrSessionMoved, zk.ErrNothing,
	errCut, context.Canceled, context.DeadlineExceeded,
}

const (
	codeConnectionLoss   zk.ErrCode = -4
	codeUnimplemented    zk.ErrCode = -6
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
	if err == nil || slices.ContainsFunc(silence, func(s error) bool { return errors.Is(err, s) }) {
		return false
	}
	code, ok := codeOf(err)
	return !ok || !slices.Contains(silentCodes, code)
}

// codeError is an answer that the client library has no error for.
type codeError zk.ErrCode

func (c codeError) Error() string { return fmt.Sprintf("ZooKeeper answered with error %d", int32(c)) }

// errCodes are the answers to our own requests that something depends on.
var errCodes = map[zk.ErrCode]error{
	0: nil, -101: zk.ErrNoNode, -102: zk.ErrNoAuth, -112: zk.ErrSessionExpired, -115: zk.ErrAuthFailed, -118: zk.ErrSessionMoved, codeUnimplemented: errOld,
}

var errOld = errors.New("the server is older than ZooKeeper 3.6")

func errorOf(code zk.ErrCode) error {
	if err, ok := errCodes[code]; ok {
		return err
	}
	return codeError(code)
}

// codeOf is the number of an answer that has no error of its own. The library tells it in words only.
func codeOf(err error) (zk.ErrCode, bool) {
	var own codeError
	if errors.As(err, &own) {
		return zk.ErrCode(own), true
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
// heals is registry.ErrUnusable.
func (p *place) explain(doing, path string, err error) error {
	code, _ := codeOf(err)
	switch {
	case code == codeWantsSASL:
		return fmt.Errorf("%w: %w", registry.ErrUnusable, p.refused(doing, path, err))
	case errors.Is(err, zk.ErrNoAuth):
		return fmt.Errorf("%w: %s %s: ZooKeeper gives no permission to %s: check --zk-digest-file, or the node's ACL with zkCli.sh getAcl %s",
			registry.ErrUnusable, doing, path, p.user(), path)
	case errors.Is(err, zk.ErrAuthFailed), errors.Is(err, zk.ErrInvalidACL):
		return fmt.Errorf("%w: %s %s: ZooKeeper does not accept %s: %w", registry.ErrUnusable, doing, path, p.user(), err)
	default:
		return p.refused(doing, path, err)
	}
}

// refused explains a refusal that is not of the whole registry. The path is ZooKeeper's.
func (p *place) refused(doing, full string, err error) error {
	code, _ := codeOf(err)
	switch {
	case errors.Is(err, zk.ErrNoAuth), errors.Is(err, zk.ErrInvalidACL):
		return fmt.Errorf("%s %s: %s: %w", doing, full, p.noPermission(full), err)
	case code == codeWantsSASL:
		return fmt.Errorf("%s %s: ZooKeeper wants SASL, which is not supported (error %d): take sessionRequireClientSASLAuth out of its servers' configuration, or let enforce.auth.schemes there have digest, and set --zk-digest-file",
			doing, full, code)
	case code == codeQuotaExceeded:
		return fmt.Errorf("%s %s: the quota that somebody has set in ZooKeeper is exceeded (error %d): see zkCli.sh listquota %s, of it and of the nodes above and below, and raise it with setquota",
			doing, full, code, p.root)
	case code != 0:
		return fmt.Errorf("%s %s: ZooKeeper refused it with error %d (KeeperException.Code; the servers' logs may say why)", doing, full, code)
	default:
		return fmt.Errorf("%s %s: %w", doing, full, err)
	}
}

// noPermission says who has none, and where to look.
func (p *place) noPermission(full string) string {
	return fmt.Sprintf("ZooKeeper gives no permission to %s: see zkCli.sh getAcl %s, and change it with setAcl", p.user(), full)
}
