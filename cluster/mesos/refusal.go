package mesos

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"syscall"

	"github.com/elasticjob-go/elasticjob/cluster"
)

// ErrNoMaster is wrapped by Subscribe's error when the server at an address is not a Mesos master.
var ErrNoMaster = errors.New("not a Mesos master")

// refusedEvent is a rejection that arrives as an ERROR event at the beginning of a stream, because Mesos answers 200
// before it checks role and user. It unwraps to both a FrameworkError and a *cluster.Refused with status 403.
type refusedEvent struct {
	event   cluster.FrameworkError
	refused *cluster.Refused
}

func (r *refusedEvent) Error() string   { return r.event.Message }
func (r *refusedEvent) Unwrap() []error { return []error{r.event, r.refused} }

// subscribeError converts an ERROR event received in place of SUBSCRIBED into an error.
func subscribeError(e cluster.FrameworkError) error {
	if e.Removed || e.FailedOver {
		return e
	}
	return &refusedEvent{event: e, refused: &cluster.Refused{Status: http.StatusForbidden, Message: e.Message}}
}

// explain adds a hint to the error of a SUBSCRIBE: what the error means and which flag to check. It returns an error
// for which there is no hint unchanged.
func explain(err error, master *url.URL, f cluster.Framework, used *Credentials) error {
	if hint := hintFor(err, master, f, used); hint != "" {
		return fmt.Errorf("%w (%s)", err, hint)
	}
	return err
}

// hintFor returns the hint for an error, or "". used are the credentials of the request, nil if it had none.
func hintFor(err error, master *url.URL, f cluster.Framework, used *Credentials) string {
	if errors.Is(err, ErrNoMaster) {
		return "look at --mesos: a master's port is usually 5050, an agent's 5051"
	}
	var refused *cluster.Refused
	if !errors.As(err, &refused) {
		return connectHint(err, master)
	}
	message := strings.ToLower(refused.Message)
	contains := func(words string) bool { return strings.Contains(message, words) }
	switch {
	case refused.Status == http.StatusUnauthorized && used == nil:
		return "the master requires credentials: give the scheduler's principal and secret with --mesos-credentials-file"
	case refused.Status == http.StatusUnauthorized:
		return fmt.Sprintf("the master does not accept principal %q with its secret: compare --mesos-credentials-file with the master's own credentials", used.User)
	case contains("does not match principal"):
		return fmt.Sprintf("--mesos-principal is %q: leave it out, or make it the principal of --mesos-credentials-file", f.Principal)
	case contains("changing framework's principal"):
		return fmt.Sprintf("framework %s is another principal's, and Mesos never gives a framework to principal %q: start with the former principal (--mesos-credentials-file, --mesos-principal); or, once none of its tasks runs any more, "+
			"tear that framework down in Mesos (POST /master/teardown), and the next start registers a new one", f.ID,
			f.Principal)
	case contains("root_submissions"), contains("user '"):
		return fmt.Sprintf("tasks would run as user %q, see --mesos-user (default: who started this server): name another, or let the master allow this one", f.User)
	case contains("role"):
		return fmt.Sprintf("--mesos-role is %q: the master must know the role (--roles) and let principal %q use it (--acls)", f.Role, f.Principal)
	case refused.Status == http.StatusForbidden:
		return fmt.Sprintf("the master does not let principal %q subscribe with role %q: look at --mesos-credentials-file, --mesos-role and the master's --acls", f.Principal, f.Role)
	}
	return ""
}

// connectHint explains an address that gave no HTTP answer.
func connectHint(err error, master *url.URL) string {
	var (
		plain     tls.RecordHeaderError
		untrusted *tls.CertificateVerificationError
		unknown   x509.UnknownAuthorityError
		noHost    *net.DNSError
	)
	switch text := err.Error(); {
	case errors.As(err, &plain), strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return "it does not speak TLS: write http:// and no --mesos-ca-file, or another port"
	case errors.As(err, &untrusted), errors.As(err, &unknown):
		return "look at --mesos-ca-file, and at the name by which the master is addressed"
	case strings.Contains(text, "tls: certificate required"), strings.Contains(text, "tls: bad certificate"),
		strings.Contains(text, "tls: handshake failure"):
		return "it may require a client certificate that its CA has signed: give --mesos-cert-file and --mesos-key-file"
	case strings.Contains(text, "client certificate: "):
		return "look at --mesos-cert-file and --mesos-key-file"
	case strings.Contains(text, `malformed HTTP response "\x15\x03`):
		return "it speaks TLS: write https://, and give its CA with --mesos-ca-file"
	case strings.Contains(text, "malformed HTTP"):
		return "it does not speak HTTP: is this a Mesos master's port?"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "is a master running there? If not, look at --mesos"
	case errors.As(err, &noHost):
		return "look at the name in --mesos"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), strings.Contains(text, "server closed"):
		return fmt.Sprintf("it closed the connection without an answer; if that persists: a ZooKeeper is written as zk://%s/mesos, a port with TLS as https://", master.Host)
	}
	return ""
}

// subscribeAnswer is answerError for the answer to a SUBSCRIBE. An operator has configured the address, so a program
// that is no Mesos master may have answered. The error then wraps ErrNoMaster.
func subscribeAnswer(resp *http.Response) error {
	status := resp.StatusCode
	err := answerError(resp)
	var refused *cluster.Refused
	if !errors.As(err, &refused) {
		return err
	}
	switch {
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusNotImplemented:
		return fmt.Errorf("%w: it does not know %s and answers %d: %w", ErrNoMaster, schedulerPath, status, refused)
	case typeOf(resp) == inJSON && status < 500:
		return fmt.Errorf("%w: it answers %d in JSON, where a master uses plain text: %w", ErrNoMaster, status,
			refused)
	case typeOf(resp) == webPage && status < 500 && status != http.StatusUnauthorized:
		return fmt.Errorf("%w: it answers with a web page and status %d: %w", ErrNoMaster, status, refused)
	case status == http.StatusBadRequest && strings.Contains(strings.ToLower(refused.Message), "https"):
		return fmt.Errorf("it requires https://, with --mesos-ca-file: %w", refused)
	}
	return err
}

// An error answer with one of these content types is not from Mesos, which answers in plain text. The APIs of other
// programs use JSON, and web pages are HTML.
const (
	inJSON  = "application/json"
	webPage = "text/html"
)

// typeOf returns the media type of an answer; "" if the answer has none.
func typeOf(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind
}

// tags matches HTML tags, even if the last one is cut off, and the parts of a page that browsers do not display.
var tags = regexp.MustCompile(`(?is)<!--.*?(-->|$)|<(style|script)\b.*?(</(style|script)\s*>|$)|<[a-z/!?][^>]*(>|$)`)

// shorten returns the beginning of a web page's text, without tags and on one line. It never returns an empty string.
func shorten(text string) string {
	const limit = 80
	text = html.UnescapeString(tags.ReplaceAllString(text, " "))
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if text == "" {
		return "only tags"
	}
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
