package elect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/mesos/mesos-go/api/v1/lib"
)

// Stand stands for election with what the master says of itself, calls lead once it is
// elected, and waits until ctx ends, which is no error, or its leadership is lost, which is.
func (c *Connection) Stand(ctx context.Context, info *mesos.MasterInfo, lead func() error) error {
	data, err := encode(info)
	if err != nil {
		return err
	}
	var complained string
	for told := false; ; {
		lost := c.session()
		late := time.AfterFunc(c.timeout, func() { c.log.Warn("ZooKeeper does not answer, waiting for it", "zookeeper", c.group) })
		name, err := c.enter(ctx, info.ID, data)
		late.Stop()
		if err == nil {
			var elected bool
			elected, err = c.waitFor(ctx, name, lost, &told)
			if elected {
				return c.reign(ctx, name, lost, lead)
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, errSession) && err.Error() != complained {
			complained = err.Error()
			c.log.Warn("master can't stand for election, trying again", "zookeeper", c.group, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retry):
		}
	}
}

var errSession = errors.New("the ZooKeeper session is lost")

// enter makes the candidate's node, or finds that an earlier try has.
func (c *Connection) enter(ctx context.Context, id string, data []byte) (string, error) {
	return do(ctx, c, func() (string, error) {
		members, err := c.members()
		if err != nil {
			return "", err
		}
		for _, name := range members {
			if content, _, err := c.conn.Get(path.Join(c.group.Path, name)); err == nil && strings.Contains(string(content), id) {
				return name, nil
			}
		}
		for at := 1; at > 0; {
			folder := c.group.Path
			if next := strings.IndexByte(folder[at:], '/'); next >= 0 {
				folder, at = folder[:at+next], at+next+1
			} else {
				at = 0
			}
			if _, err := c.conn.Create(folder, nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				return "", fmt.Errorf("make the node %s: %w", folder, err)
			}
		}
		made, err := c.conn.Create(path.Join(c.group.Path, prefix), data, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		return path.Base(made), err
	})
}

// waitFor waits until the node is the lowest.
func (c *Connection) waitFor(ctx context.Context, name string, lost <-chan struct{}, told *bool) (elected bool, err error) {
	for {
		changed, err := do(ctx, c, func() (<-chan zk.Event, error) {
			_, _, changed, err := c.conn.ChildrenW(c.group.Path)
			return changed, err
		})
		if err != nil {
			return false, err
		}
		members, err := do(ctx, c, c.members)
		switch {
		case err != nil:
			return false, err
		case !slices.Contains(members, name):
			return false, errSession
		case members[0] == name:
			return true, nil
		}
		if !*told {
			c.log.Info("another master leads, standing by", "zookeeper", c.group, "leader", members[0], "own", name)
			*told = true
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-lost:
			return false, errSession
		case <-changed:
		}
	}
}

// reign leads until the session or the node is lost.
func (c *Connection) reign(ctx context.Context, name string, lost <-chan struct{}, lead func() error) error {
	c.log.Info("elected as the leading master", "zookeeper", c.group, "node", name)
	if err := lead(); err != nil {
		return err
	}
	// A call waits as long as ZooKeeper is away: the loss must not.
	reign, over := context.WithCancel(ctx)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		defer over()
		select {
		case <-lost:
		case <-reign.Done():
		}
	}()
	defer func() {
		over()
		<-watching
	}()
	for {
		type state struct {
			here    bool
			changed <-chan zk.Event
		}
		now, err := do(reign, c, func() (state, error) {
			here, _, changed, err := c.conn.ExistsW(path.Join(c.group.Path, name))
			return state{here, changed}, err
		})
		if err == nil && !now.here {
			return fmt.Errorf("lost the leadership: the node %s is no more; start this master again", path.Join(c.group.Path, name))
		}
		var again <-chan time.Time
		if err != nil {
			again = time.After(retry) // the session may live
		}
		select {
		case <-reign.Done():
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("lost the leadership: %w (%s); start this master again", errSession, c.group)
		case <-now.changed:
		case <-again:
		}
	}
}

// encode writes the MasterInfo as Mesos does.
func encode(info *mesos.MasterInfo) ([]byte, error) {
	type named map[string]any
	capabilities := []named{}
	for _, each := range info.Capabilities {
		name, known := mesos.MasterInfo_Capability_Type_name[int32(each.Type)]
		if !known {
			name = "QUOTA_V2" // the generated types are older than it
		}
		capabilities = append(capabilities, named{"type": name})
	}
	return json.Marshal(named{
		"address":      named{"hostname": info.Address.GetHostname(), "ip": info.Address.GetIP(), "port": info.Address.GetPort()},
		"capabilities": capabilities, "hostname": info.GetHostname(), "id": info.ID, "ip": info.IP,
		"pid": info.GetPID(), "port": info.GetPort(), "version": info.GetVersion(),
	})
}
