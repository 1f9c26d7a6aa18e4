package zookeeper

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/zookeeper"
)

// candidate is one child of the election node, in the form of Curator's
// LeaderSelector: _c_<guid>-lock-<10 digits>. The lowest number leads.
type candidate struct {
	name   string
	guid   string
	number int64
}

const (
	candidatePrefix = "_c_"
	candidateInfix  = "-lock-"
)

// readCandidate reads a child's name; false: it takes no part.
func readCandidate(name string) (candidate, bool) {
	i := strings.LastIndex(name, "lock-")
	if i < 0 {
		return candidate{}, false
	}
	number, err := strconv.ParseInt(name[i+len("lock-"):], 10, 64)
	if err != nil {
		return candidate{}, false
	}
	guid := strings.TrimSuffix(strings.TrimPrefix(name[:i], candidatePrefix), "-")
	return candidate{name, guid, number}, true
}

// candidates are those who stand, the leading one first.
func candidates(children []string) (found []candidate) {
	for _, name := range children {
		if c, ok := readCandidate(name); ok {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Compare(a.number, b.number) })
	return found
}

// newGUID marks our candidates: Curator's are of version 4, so whoever looks knows
// whether to expect a term of ours.
func newGUID() (string, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	return id.String(), nil
}

func isOurs(guid string) bool {
	id, err := uuid.Parse(guid)
	return err == nil && id.Version() == 7
}

// lookStanding is how often a candidate looks who stands before it. It sets no watch: that would only save reads, and a
// session with watches ends with its connection.
const lookStanding = 100 * time.Millisecond

// stand makes a candidate, reports its name, and waits until it is the first. The node goes with the session.
func (c *client) stand(ctx context.Context, who string, stands func(name string)) (candidate, error) {
	guid, err := newGUID()
	if err != nil {
		return candidate{}, fmt.Errorf("make a candidate's id: %w", err)
	}
	folder := c.place.full(electionPath)
	full := folder + "/" + candidatePrefix + guid + candidateInfix
	node, err := c.Create(full, []byte(who), zk.FlagEphemeral|zk.FlagSequence, c.place.acl)
	if zookeeper.Answered(err) {
		return candidate{}, c.place.explain("stand for election at", folder, err)
	}
	if err == nil {
		c.place.Logger.Debug("standing for election", "node", node)
	}
	for {
		// An answer that got lost leaves a node that is found by its guid.
		all, err := c.standing()
		if err != nil {
			return candidate{}, err
		}
		own := slices.IndexFunc(all, func(x candidate) bool { return x.guid == guid })
		if own < 0 {
			return candidate{}, errors.New("the candidate's node is not there: its making failed, or its session has ended")
		}
		stands(all[own].name)
		if own == 0 {
			return all[0], nil
		}
		select {
		case <-time.After(lookStanding):
		case <-c.Context().Done():
			return candidate{}, context.Cause(c.Context())
		case <-ctx.Done():
			return candidate{}, ctx.Err()
		}
	}
}

func (c *client) standing() ([]candidate, error) {
	folder := c.place.full(electionPath)
	children, _, err := c.Children(folder)
	if err != nil {
		return nil, c.place.explain("look for candidates at", folder, err)
	}
	return candidates(children), nil
}

// termRecord is the value of /registry/term.
type termRecord struct {
	Term      int64     `json:"term"`
	Address   string    `json:"address"`
	Since     time.Time `json:"since"`
	Candidate string    `json:"candidate"` // the election node that the term stands on
}

func (r termRecord) leader() registry.Leader {
	return registry.Leader{Term: r.Term, Address: r.Address, Since: r.Since}
}

// is reports whether a node's value is the record.
func (r termRecord) is(value []byte) bool {
	var there termRecord
	return json.Unmarshal(value, &there) == nil && there.Term == r.Term && there.Address == r.Address && there.Candidate == r.Candidate && there.Since.Equal(r.Since)
}

// fence is the value of /registry/fence: the term and how many requests have committed something in it.
type fence struct{ term, commit int64 }

func (f fence) bytes() []byte { return fmt.Appendf(nil, "%d %d", f.term, f.commit) }

func readFence(value []byte) (f fence, err error) {
	if n, err := fmt.Sscanf(string(value), "%d %d", &f.term, &f.commit); err != nil || n != 2 || f.term < 0 || f.commit < 0 {
		return f, fmt.Errorf("%q is no term and commit number", value)
	}
	return f, nil
}

// begin begins a term by one Multi that checks the election node (rule T1). Its number is above highest.
func (c *client) begin(own candidate, who string, now time.Time, highest int64) (record termRecord, fenceVersion int32, err error) {
	p := c.place
	for {
		last, lastStat, err := c.Get(p.full(fencePath))
		if err != nil {
			return record, 0, p.explain("read", p.full(fencePath), err)
		}
		before, err := readFence(last)
		if err != nil {
			return record, 0, fmt.Errorf("%w: %s: %w: set it to a term number above any earlier one and 0, as in %q",
				registry.ErrUnusable, p.full(fencePath), err, "1000 0")
		}
		old, recordStat, err := c.Get(p.full(recordPath))
		if err != nil {
			return record, 0, p.explain("read", p.full(recordPath), err)
		}
		if json.Unmarshal(old, &record) == nil && record.Candidate == own.name && record.Term == before.term {
			return record, lastStat.Version, nil // the answer to an earlier try got lost
		}
		// Both nodes have the number: one that somebody deleted brings no old number back.
		if latest := max(before.term, record.Term); latest < highest {
			p.Logger.Warn("ZooKeeper went back: the last term in it is not the last that was there. Was it restored from an older copy, or its namespace emptied? What was done since that copy may be done again",
				"term", latest, "before", highest)
		}
		record = termRecord{Term: max(before.term, record.Term, highest, 0) + 1, Address: who, Since: now.UTC(), Candidate: own.name}
		value, err := json.Marshal(record)
		if err != nil {
			return record, 0, err
		}
		results, err := c.Multi(
			&zk.CheckVersionRequest{Path: p.full(electionPath + "/" + own.name), Version: -1},
			&zk.SetDataRequest{Path: p.full(fencePath), Data: fence{term: record.Term}.bytes(), Version: lastStat.Version},
			&zk.SetDataRequest{Path: p.full(recordPath), Data: value, Version: recordStat.Version})
		switch {
		case err == nil:
			return record, results[1].Stat.Version, nil
		case zookeeper.Answered(err) && !(replannable(err) && firstFailed(results) > 0):
			return record, 0, p.explain("begin a term at", p.full(fencePath), err)
		}
		if err := c.Pause(c.Context()); err != nil {
			return record, 0, err
		}
	}
}
