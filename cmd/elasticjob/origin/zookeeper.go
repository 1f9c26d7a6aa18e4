package origin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/elasticjob-go/elasticjob/definitions/convert"
	"github.com/elasticjob-go/elasticjob/internal/zookeeper"
)

// sessionTimeout is how long ZooKeeper may be silent before LiteNodes returns an error.
const sessionTimeout = 20 * time.Second

// LiteNodes reads the jobs of an ElasticJob-Lite from its ZooKeeper, and changes nothing. address is HOSTS/NAMESPACE,
// where HOSTS is a list of host:port, separated by commas. digest is user:password, or empty.
func LiteNodes(ctx context.Context, address, digest string) (nodes []convert.LiteNode, err error) {
	hosts, namespace, _ := strings.Cut(address, "/")
	if namespace = strings.Trim(namespace, "/"); namespace == "" {
		return nil, fmt.Errorf("%q names no namespace: give HOSTS/NAMESPACE, such as zk1:2181,zk2:2181/orders", address)
	}
	servers, err := zookeeper.ParseServers(hosts)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", hosts, err)
	}
	client, err := zookeeper.Connect(zookeeper.Options{Servers: servers, SessionTimeout: sessionTimeout, Digest: digest,
		GiveUp: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Dial: new(net.Dialer).DialContext})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := client.Join(ctx); err != nil {
		if problem := client.Trouble(); problem != nil { // says why the session ended
			err = problem
		}
		return nil, fmt.Errorf("connect to ZooKeeper at %s: %w", hosts, err)
	}
	err = client.Do(ctx, func() error {
		nodes, err = readNodes(client.Conn, "/"+namespace)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the namespace %s in ZooKeeper at %s: %w", namespace, hosts, err)
	}
	return nodes, nil
}

// readNodes reads the jobs in a namespace, in the order of their names. It skips nodes without a configuration,
// because these are no jobs.
func readNodes(conn *zk.Conn, namespace string) (nodes []convert.LiteNode, err error) {
	names, _, err := conn.Children(namespace)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, errors.New("it does not exist")
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		node := convert.LiteNode{Job: name}
		path := namespace + "/" + name
		node.Config, _, err = conn.Get(path + "/config")
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err == nil && len(strings.TrimSpace(string(node.Config))) == 0 {
			node.Settings, err = dataBelow(conn, path+"/config")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		servers, err := dataBelow(conn, path+"/servers")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		node.Servers = len(servers)
		for _, state := range servers {
			if state == "DISABLED" {
				node.Disabled++
			}
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// dataBelow returns the data of the children of a node, by their names. A missing node has no children.
func dataBelow(conn *zk.Conn, path string) (map[string]string, error) {
	names, _, err := conn.Children(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, name := range names {
		data, _, err := conn.Get(path + "/" + name)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return nil, err
		}
		all[name] = string(data)
	}
	return all, nil
}
