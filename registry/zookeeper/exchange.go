package zookeeper

import (
	"errors"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Nodes converts entries and shared values, from another kind of registry, into the nodes of a backup.
func Nodes(term int64, entries, shared []registry.Entry) (nodes []Node) {
	nodes = append(nodes, Node{fencePath, fence{term: term}.bytes()})
	for _, e := range entries {
		nodes = append(nodes, Node{nodeOf(e.Path), e.Value})
	}
	for _, e := range shared {
		nodes = append(nodes, Node{sharedNode(e.Path), e.Value})
	}
	folders := map[string]bool{}
	for _, n := range nodes {
		for folder := folderOf(n.Path); folder != ""; folder = folderOf(folder) {
			folders[folder] = true
		}
	}
	for _, n := range nodes {
		delete(folders, n.Path)
	}
	for folder := range folders {
		nodes = append(nodes, Node{Path: folder})
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.Path, b.Path) })
	return nodes
}

// Entries converts the nodes of a backup into entries and shared values, for another kind of registry. It leaves out
// the entries at the paths in without. It returns an error if the backup has no valid fence.
func Entries(nodes []Node, without ...string) (term int64, entries, shared []registry.Entry, err error) {
	hasFence := false
	for _, n := range nodes {
		folder := folderOf(n.Path)
		path := pathOf(folder, strings.TrimPrefix(n.Path, folder+"/"))
		switch {
		case n.Path == fencePath:
			f, err := readFence(n.Value)
			if err != nil {
				return 0, nil, nil, err
			}
			term, hasFence = f.term, true
		case folder == sharedPath:
			shared = append(shared, registry.Entry{Path: strings.TrimPrefix(n.Path, sharedPath+"/"), Value: n.Value})
		case (folder == entriesPath || isOriginal(n.Path)) && !slices.Contains(without, path):
			entries = append(entries, registry.Entry{Path: path, Value: n.Value})
		}
	}
	if !hasFence {
		err = errors.New("it has no " + fencePath)
	}
	return term, entries, shared, err
}
