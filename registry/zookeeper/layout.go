package zookeeper

import (
	"bytes"
	"slices"
	"strings"
)

// Nodes that are no entries: the election and what terms write of themselves.
const (
	electionPath = "/ha/election"
	fencePath    = "/brain/fence"
	termPath     = "/brain/term"
)

// mark is the value of nodes that are there only because others are below
// them. It is short, so that a mark never takes more room than PerWrite has.
var mark = []byte("\x00ej-parent\x00")

// edited are the folders whose entries people and the original's console may change.
var edited = []string{"/config/app", "/config/job", "/state/disable/app", "/state/disable/job"}

// isEdited reports whether the path is in one of them.
func isEdited(path string) bool {
	folder, _ := split(path)
	return slices.Contains(edited, folder)
}

// folders are the containers of the original's layout. Curator gives them a
// value of its own (the maker's address), so they are known by name. They stay when empty.
var folders = map[string]bool{
	"/": true, "/config": true, "/state": true, "/state/ready": true, "/state/running": true, "/state/failover": true,
	"/state/disable": true, "/ha": true, electionPath: true, "/brain": true,
	"/config/app": true, "/config/job": true, "/state/disable/app": true, "/state/disable/job": true,
}

// hidden reports whether what is at the path is the registry's own business.
func hidden(path string) bool {
	return path == fencePath || path == termPath || strings.HasPrefix(path, electionPath+"/")
}

// isFolder reports whether the path is a container of the layout, whatever its value.
func isFolder(path string) bool {
	if folders[path] {
		return true
	}
	parent, _ := split(path)
	return parent == "/state/running" || parent == "/state/failover" // one folder per job
}

// kindOf tells an entry from a parent.
func kindOf(path string, value []byte) kind {
	if hidden(path) || isFolder(path) || bytes.Equal(value, mark) {
		return parent
	}
	return entry
}

// removable reports whether a parent without children should go.
func removable(path string) bool { return !folders[path] && !hidden(path) }

// split cuts a path into its parent and its last part.
func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 1)], path[i+1:]
}

// join is split's inverse.
func join(parent, name string) string {
	if parent == "/" {
		return "/" + name
	}
	return parent + "/" + name
}
