package local

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/cluster/local/apihttp"
	"github.com/elasticjob-go/elasticjob/cluster/local/link"
	"github.com/elasticjob-go/elasticjob/cluster/local/master"
)

// patience bounds a question to ZooKeeper for which somebody waits.
const patience = 5 * time.Second

func isZooKeeper(url string) bool { return strings.HasPrefix(url, "zk://") }

// stand stands for election until the cluster is closed. Who has led and does not any more
// has failed, as a Mesos master that then ends.
func (c *Cluster) stand(address netip.AddrPort) {
	ctx, cancel := context.WithCancel(context.Background())
	c.background.Go(func() {
		defer cancel()
		<-c.closing
	})
	c.background.Go(func() {
		id := uuid.NewString()
		err := c.election.Stand(ctx, master.Info(id, address.Addr().String(), address), func() error { return c.lead(id, address) })
		if err != nil {
			c.fail(errors.Join(err, c.abdicate()))
		}
	})
}

// lead opens the master and serves it.
func (c *Cluster) lead(id string, address netip.AddrPort) error {
	opts := &c.opts
	opened, err := master.Open(master.Options{
		ID: id, Dir: opts.DataDir, Address: address, Heartbeat: opts.Heartbeat, Logger: opts.Logger.With("part", "master"),
		Credentials: c.Credentials(), Roles: opts.Roles, InMemoryRegistry: opts.InMemoryRegistry,
		AgentPingTimeout: opts.AgentPingTimeout, MaxAgentPingTimeouts: opts.MaxAgentPingTimeouts,
		AgentReregisterTimeout: opts.AgentReregisterTimeout, HTTPS: opts.TLS != nil,
	})
	if err != nil {
		return err
	}
	agents := link.NewServer(opened, opts.Logger.With("part", "master"))
	mux := http.NewServeMux()
	mux.Handle("/", opened.Handler())
	mux.Handle("/agent/v1/", c.Credentials().Guard(link.Realm, agents.Handler()))
	c.mu.Lock()
	c.master, c.links = opened, agents
	c.mu.Unlock()
	var leading http.Handler = mux
	c.leading.Store(&leading)
	return nil
}

// abdicate ends the master, if there is one.
func (c *Cluster) abdicate() error {
	c.leading.Store(nil)
	c.mu.Lock()
	opened, agents := c.master, c.links
	c.mu.Unlock()
	if opened == nil {
		return nil
	}
	agents.Close()
	return opened.Close()
}

// standby answers while another master leads: who wants the master is sent there.
func (c *Cluster) standby() http.Handler {
	own := c.Credentials()
	mux := http.NewServeMux()
	for _, prefix := range []string{"", "/master"} {
		for path, realm := range map[string]string{
			"/api/v1/scheduler": apihttp.RealmScheduler, "/api/v1": apihttp.RealmOperator, "/teardown": apihttp.RealmOperator,
		} {
			mux.Handle(prefix+path, own.Guard(realm, c.redirect("/master"+path)))
		}
		mux.HandleFunc("GET "+prefix+"/health", func(http.ResponseWriter, *http.Request) {})
		mux.HandleFunc("GET "+prefix+"/version", func(w http.ResponseWriter, _ *http.Request) {
			// The peer may be gone; there is nobody else to tell.
			_ = json.NewEncoder(w).Encode(map[string]string{"version": master.Version})
		})
	}
	mux.Handle("/agent/v1/", own.Guard(link.Realm, c.redirect("")))
	return mux
}

// redirect sends to the same path, or the given one, at the leading master.
func (c *Cluster) redirect(path string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		hostname, address, err := c.election.Leader(ctx)
		if err != nil || address == c.address {
			// Also for the moment between an election and its effect.
			apihttp.Refuse(w, http.StatusServiceUnavailable, "No leader elected")
			return
		}
		to := path
		if to == "" {
			to = r.URL.Path
		}
		host := netip.AddrPortFrom(address.Addr(), address.Port()).String()
		if hostname != "" && hostname != address.Addr().String() {
			host = strings.Replace(host, address.Addr().String(), hostname, 1)
		}
		w.Header().Set("Location", "//"+host+to)
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
}
