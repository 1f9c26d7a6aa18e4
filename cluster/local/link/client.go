package link

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Second
)

// Options of a Client.
type Options struct {
	// Find returns the base of the leading master's API, "http://host:port". It is asked
	// before each try to register; a redirect from there is followed.
	Find func(context.Context) (string, error)
	// Credentials are sent with every request, if not nil.
	Credentials *apihttp.Credentials
	// Logger is required.
	Logger *slog.Logger
}

// Client is the agent's end: an Upstream whose Register waits until a master
// has taken the agent. It is for one agent. Make it with NewClient, Close it before the agent.
type Client struct {
	options Options
	http    *http.Client
	ctx     context.Context
	stop    context.CancelFunc
	reading sync.WaitGroup
	refused chan error

	mu      sync.Mutex
	session *session // nil before the first registration
	closed  bool
}

var _ master.Upstream = (*Client)(nil)

// session is one registration.
type session struct {
	id, base string
	over     context.CancelFunc
	// replaced is closed when the agent begins to register anew.
	replaced chan struct{}
	done     chan struct{} // its reader has ended
}

// NewClient makes a client; it does nothing before Register.
func NewClient(options Options) *Client {
	c := &Client{options: options, refused: make(chan error, 1)}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.http = &http.Client{Transport: &http.Transport{
		DialContext: (&net.Dialer{Timeout: patience}).DialContext, ResponseHeaderTimeout: patience,
	}}
	return c
}

// Refused delivers why a master does not take this agent at all: it was marked gone, or
// its credentials are wrong.
func (c *Client) Refused() <-chan error { return c.refused }

// Close ends the session; what the agent tells from now on is lost.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop()
	c.reading.Wait()
	c.http.CloseIdleConnections()
}

// Register implements master.Upstream. It tries until a master answers or Close is called.
func (c *Client) Register(agent master.AgentLink, still master.Recovered) error {
	c.endSession()
	asked, err := encodeRegistration(agent.Info(), still)
	if err != nil {
		return err
	}
	body, err := json.Marshal(asked)
	if err != nil {
		return fmt.Errorf("encode the agent's registration: %w", err)
	}
	for wait, told := firstRetry, ""; ; wait = min(2*wait, lastRetry) {
		err := c.open(agent, body)
		if err == nil || c.ctx.Err() != nil {
			return err
		}
		var no *refusal
		if errors.As(err, &no) && no.final() {
			select {
			case c.refused <- err:
			default:
			}
			return err
		}
		if err.Error() != told {
			told = err.Error()
			c.options.Logger.Warn("agent can't register, trying again", "error", err)
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-time.After(wait):
		}
	}
}

// endSession makes sure that nothing of the last session reaches the agent any more.
func (c *Client) endSession() {
	c.mu.Lock()
	s := c.session
	c.session = nil
	c.mu.Unlock()
	if s != nil {
		close(s.replaced)
		s.over()
		<-s.done
	}
}

// refusal is an answer other than 2xx.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string {
	switch r.status {
	case http.StatusUnauthorized:
		return "the master does not take this agent's credentials (401): give it the master's with --credentials"
	default:
		return fmt.Sprintf("the master answers %d: %s", r.status, r.text)
	}
}

// final tells that trying again does not help.
func (r *refusal) final() bool {
	return r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
}

// post returns a 2xx answer; its body is to be closed.
func (c *Client) post(ctx context.Context, url, session string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if session != "" {
		request.Header.Set(sessionHeader, session)
	}
	if own := c.options.Credentials; own != nil {
		request.SetBasicAuth(own.Principal, own.Secret)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000)) // what can be had of it
		_ = response.Body.Close()
		return nil, &refusal{response.StatusCode, strings.TrimSpace(string(text))}
	}
	return response, nil
}

func (c *Client) open(agent master.AgentLink, body []byte) error {
	found, err := c.options.Find(c.ctx)
	if err != nil {
		return fmt.Errorf("find the leading master: %w", err)
	}
	ctx, over := context.WithCancel(c.ctx)
	response, err := c.post(ctx, strings.TrimSuffix(found, "/")+registerPath, "", body)
	if err != nil {
		over()
		return fmt.Errorf("register the agent at the master %s: %w", found, err)
	}
	id := response.Header.Get(sessionHeader)
	silence, err := strconv.ParseFloat(response.Header.Get(silenceHeader), 64)
	if err != nil || silence <= 0 || id == "" {
		over()
		return errors.Join(fmt.Errorf("register the agent at the master %s: its answer is none of a local master", found), response.Body.Close())
	}
	at := response.Request.URL // after redirects
	s := &session{
		id: id, base: at.Scheme + "://" + at.Host, over: over, replaced: make(chan struct{}), done: make(chan struct{}),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		over()
		return errors.Join(context.Canceled, response.Body.Close())
	}
	c.session = s
	c.reading.Go(func() {
		defer close(s.done)
		err := c.read(s, agent, response.Body, time.Duration(silence*float64(time.Second)))
		_ = response.Body.Close() // it was only read
		over()
		c.lost(s, agent, err)
	})
	return nil
}

// lost makes the agent register again. It may be busy with that already, or with
// the registration that began this session: so it is told until it begins.
func (c *Client) lost(s *session, agent master.AgentLink, err error) {
	for told := false; ; told = true {
		select {
		case <-c.ctx.Done():
			return
		case <-s.replaced:
			return
		default:
		}
		if !told {
			c.options.Logger.Warn("lost the master, registering again", "master", s.base, "error", err)
		}
		agent.Ping(false, func() {})
		select {
		case <-c.ctx.Done():
			return
		case <-s.replaced:
			return
		case <-time.After(lastRetry):
		}
	}
}

// read passes the master's orders on, until the session is broken or silent for too long.
func (c *Client) read(s *session, agent master.AgentLink, from io.Reader, silence time.Duration) error {
	watchdog := time.AfterFunc(silence, s.over)
	defer watchdog.Stop()
	orders := json.NewDecoder(from)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return err
		}
		watchdog.Reset(silence)
		if err := c.obey(s, agent, &o); err != nil {
			return err
		}
	}
}

func (c *Client) obey(s *session, agent master.AgentLink, o *order) error {
	var framework mesos.FrameworkInfo
	if o.Info != nil {
		if err := framework.Unmarshal(o.Info); err != nil {
			return fmt.Errorf("decode FrameworkInfo: %w", err)
		}
	}
	switch o.Kind {
	case orderRun:
		tasks, err := decodeAll[mesos.TaskInfo](o.Tasks)
		if err != nil {
			return err
		}
		agent.RunTasks(framework, tasks)
	case orderKill:
		var policy *mesos.KillPolicy
		if o.Policy != nil {
			policy = &mesos.KillPolicy{}
			if err := policy.Unmarshal(*o.Policy); err != nil {
				return fmt.Errorf("decode KillPolicy: %w", err)
			}
		}
		agent.KillTask(o.Framework, o.Task, policy)
	case orderShutdownExecutor:
		agent.ShutdownExecutor(o.Framework, o.Executor)
	case orderShutdownFramework:
		agent.ShutdownFramework(o.Framework)
	case orderMessage:
		agent.Message(o.Framework, o.Executor, o.Data)
	case orderAcknowledge:
		agent.Acknowledge(o.Framework, o.Task, o.Data)
	case orderPing:
		agent.Ping(o.Connected, func() { c.send(s, news{Kind: newsPong, Ping: o.Ping}) })
	case orderSubscribed:
		agent.Subscribed(framework)
	default:
		return fmt.Errorf("order %q is not known", o.Kind)
	}
	return nil
}

// tell sends news in the present session, if there is one.
func (c *Client) tell(n news) {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s != nil {
		c.send(s, n)
	}
}

// send ends the session when the news don't arrive.
func (c *Client) send(s *session, n news) {
	body, err := json.Marshal(n)
	if err == nil {
		ctx, cancel := context.WithTimeout(c.ctx, patience)
		defer cancel()
		var response *http.Response
		if response, err = c.post(ctx, s.base+callPath, s.id, body); err == nil {
			err = response.Body.Close()
		}
	}
	if err != nil {
		c.options.Logger.Debug("news did not reach the master", "kind", n.Kind, "error", err)
		s.over()
	}
}

// Update implements master.Upstream.
func (c *Client) Update(_ string, update master.StatusUpdate) {
	status, err := update.Status.Marshal()
	if err != nil {
		c.options.Logger.Error("status update can't be sent", "task", update.Status.TaskID.Value, "error", err)
		return
	}
	c.tell(news{Kind: newsUpdate, Framework: update.FrameworkID, Status: status, Latest: int32(update.Latest)})
}

// ExecutorEnded implements master.Upstream.
func (c *Client) ExecutorEnded(_, frameworkID, executorID string, waitStatus int) {
	c.tell(news{Kind: newsEnded, Framework: frameworkID, Executor: executorID, WaitStatus: waitStatus})
}

// Message implements master.Upstream.
func (c *Client) Message(_, frameworkID, executorID string, data []byte) {
	c.tell(news{Kind: newsMessage, Framework: frameworkID, Executor: executorID, Data: data})
}
