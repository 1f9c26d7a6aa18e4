package zookeeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/registry"
)

// candidate is a child of /ha/election. Its name has the format of Curator's LeaderSelector: _c_<guid>-lock-<10
// digits>. The digits are its number. The candidate with the lowest number leads.
type candidate struct {
	name   string
	number int64
}

const (
	candidatePrefix = "_c_"
	candidateInfix  = "-lock-"
)

// candidates returns the candidates among the children, the leading one first. It ignores children with other names.
func candidates(children []string) (found []candidate) {
	for _, name := range children {
		i := strings.LastIndex(name, "lock-")
		if i < 0 {
			continue
		}
		if number, err := strconv.ParseInt(name[i+len("lock-"):], 10, 64); err == nil {
			found = append(found, candidate{name, number})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Compare(a.number, b.number) })
	return found
}

// isOurs reports whether the candidate belongs to a server of this scheduler, and so will begin a term. Its guid is a
// UUID of version 7; Curator uses version 4.
func (c candidate) isOurs() bool {
	guid, _, _ := strings.Cut(strings.TrimPrefix(c.name, candidatePrefix), candidateInfix)
	id, err := uuid.Parse(guid)
	return err == nil && id.Version() == 7
}

// candidateInterval is the interval at which a candidate reads the list of candidates. It sets no watch, because a
// session with watches ends with its connection; a watch would only save reads.
const candidateInterval = 20 * time.Millisecond

// stand creates a candidate with the address, calls onCandidate with its name, and waits until the candidate is the
// first. The candidate's node is removed with the session, even if the answer to its creation was lost.
func (c *client) stand(ctx context.Context, address string, onCandidate func(name string)) (candidate, error) {
	guid, err := uuid.NewV7()
	if err != nil {
		return candidate{}, fmt.Errorf("create a candidate's id: %w", err)
	}
	folder := c.namespace.full(electionPath)
	node, err := c.Create(folder+"/"+candidatePrefix+guid.String()+candidateInfix, []byte(address),
		zk.FlagEphemeral|zk.FlagSequence, c.namespace.acl)
	if err != nil {
		return candidate{}, c.namespace.explain("stand for election at", folder, err)
	}
	name := strings.TrimPrefix(node, folder+"/")
	onCandidate(name)
	c.namespace.Logger.Debug("standing for election", "node", node)
	for {
		all, err := c.readCandidates()
		if err != nil {
			return candidate{}, err
		}
		own := slices.IndexFunc(all, func(x candidate) bool { return x.name == name })
		if own < 0 {
			return candidate{}, errors.New("the candidate's node is gone: it was deleted, or its session has ended")
		}
		if own == 0 {
			return all[0], nil
		}
		select {
		case <-time.After(candidateInterval):
		case <-c.Context().Done():
			return candidate{}, context.Cause(c.Context())
		case <-ctx.Done():
			return candidate{}, ctx.Err()
		}
	}
}

func (c *client) readCandidates() ([]candidate, error) {
	folder := c.namespace.full(electionPath)
	children, _, err := c.Children(folder)
	if err != nil {
		return nil, c.namespace.explain("list the candidates at", folder, err)
	}
	return candidates(children), nil
}

// fence is the value of /registry/fence: the number of the term, the number of successful Multis in the term, and the
// name of the term's election node.
type fence struct {
	term, commit int64
	candidate    string
}

func (f fence) bytes() []byte { return fmt.Appendf(nil, "%d %d %s", f.term, f.commit, f.candidate) }

// readFence parses the value of the fence. The name of the election node may be missing.
func readFence(value []byte) (f fence, err error) {
	n, _ := fmt.Sscanf(string(value), "%d %d %s", &f.term, &f.commit, &f.candidate)
	if n < 2 || f.term < 0 || f.commit < 0 {
		return f, fmt.Errorf("%q is not a term and a commit number", value)
	}
	return f, nil
}

// begin begins a term with one Multi, which sets the election node and thereby checks that it exists (rule T1). The
// number of the term is above highest. After an error the caller must close the session: the term may have begun, and
// then ends with it.
func (c *client) begin(
	own candidate, address string, highest int64,
) (leader registry.Leader, fenceVersion int32, err error) {
	ns := c.namespace
	value, stat, err := c.Get(ns.full(fencePath))
	if err != nil {
		return leader, 0, ns.explain("read", ns.full(fencePath), err)
	}
	if string(value) == restoring {
		return leader, 0, fmt.Errorf("%w: the namespace %s has an unfinished restore: if it is not running any more, stop all servers, remove the namespace (zkCli.sh deleteall %s), and restore again",
			registry.ErrUnusable, ns.Namespace, ns.root)
	}
	before, err := readFence(value)
	if err != nil {
		return leader, 0, fmt.Errorf("%w: %s: %w: set it to a term number above any earlier one and 0, as in %q",
			registry.ErrUnusable, ns.full(fencePath), err, "1000 0")
	}
	if before.term < highest {
		ns.Logger.Warn("ZooKeeper went back: its last term is older than one that was seen before; it may have been restored from an older copy, or its namespace emptied, and what was done since that copy may be done again",
			"term", before.term, "before", highest)
	}
	if before.term == 0 {
		before.term = own.number // the fence may have been deleted; there were not more terms than candidates
	}
	next := fence{term: max(before.term, highest) + 1, candidate: own.name}
	results, err := c.Multi(
		&zk.SetDataRequest{Path: ns.full(electionPath + "/" + own.name), Data: []byte(address), Version: -1},
		&zk.SetDataRequest{Path: ns.full(fencePath), Data: next.bytes(), Version: stat.Version})
	if err != nil {
		return leader, 0, ns.explain("begin a term at", ns.full(fencePath), err)
	}
	return leaderOf(next, address, results[0].Stat), results[1].Stat.Version, nil
}

// leaderOf returns the leader of the fence's term. election is the Stat of the election node, which the leader has set
// at the beginning of the term.
func leaderOf(f fence, address string, election *zk.Stat) registry.Leader {
	return registry.Leader{Term: f.term, Address: address, Since: time.UnixMilli(election.Mtime).UTC()}
}
