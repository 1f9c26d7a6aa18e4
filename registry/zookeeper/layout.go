package zookeeper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Nodes of the registry itself, which are no entries.
const (
	electionPath = "/ha/election"
	ownPath      = "/registry"
	fencePath    = ownPath + "/fence"
	entriesPath  = ownPath + "/entries" // every entry that has no place in the original's layout
	stagedPath   = ownPath + "/staged"  // parts of commits that are too large for one request
	namedPath    = ownPath + "/commit"  // the commit whose parts are being applied
	sharedPath   = ownPath + "/shared"  // values beside all terms
)

const (
	frameworkPath = "/ha/framework_id"
	readyPath     = "/state/ready"
)

// edited are the folders whose entries people and the original's console may change.
var edited = []string{"/config/app", "/config/job", "/state/disable/app", "/state/disable/job"}

// queues are folders of the original that have a folder for each job.
var queues = []string{"/state/failover", "/state/running"}

// reserved are the parts of the tree in which only the original's places are entries.
var reserved = append([]string{"/config", "/ha", "/state/disable", readyPath, ownPath}, queues...)

// isEdited reports whether the path is an entry of a folder that people may change.
func isEdited(path string) bool { return slices.Contains(edited, folderOf(path)) }

// isOriginal reports whether the path is an entry of the original's layout: its node is at the same path.
func isOriginal(path string) bool {
	folder := folderOf(path)
	return slices.Contains(edited, folder) || folder == readyPath || path == frameworkPath ||
		slices.Contains(queues, folderOf(folder))
}

// isReserved reports whether the path is in a part of the tree that is the original's, or the registry's own.
func isReserved(path string) bool {
	return slices.ContainsFunc(reserved,
		func(part string) bool { return path == part || strings.HasPrefix(path, part+"/") })
}

// isPlace reports whether an entry can be at the path.
func isPlace(path string) bool { return isOriginal(path) || !isReserved(path) }

// area is the folder whose list shows whether the path is there: one of the original's, or the folder of all other
// entries.
func area(path string) string {
	if isOriginal(path) {
		return folderOf(path)
	}
	return entriesPath
}

// An entry that is not the original's is one node in one folder, named by its escaped path, so that no
// parents have to be made before it and removed after it. The escape is that of JSON pointers (RFC 6901).
var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~0", "~", "~1", "/")
)

// nodeOf is where the entry at a path is kept, below the namespace. The registry's own nodes are where they are.
func nodeOf(path string) string {
	if isOriginal(path) || strings.HasPrefix(path, ownPath+"/") {
		return path
	}
	return entriesPath + "/" + escape.Replace(path[1:])
}

// pathOf is the path of the entry that a node of a folder is.
func pathOf(folder, name string) string {
	if folder == entriesPath {
		return "/" + unescape.Replace(name)
	}
	return folder + "/" + name
}

// folderOf is the path above a path; that of the topmost is empty.
func folderOf(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// checkWrites says why a commit can't be made whatever ZooKeeper holds.
func checkWrites(writes []registry.Write) error {
	for _, w := range writes {
		if err := checkPath(w.Path); err != nil {
			return err
		}
		if !isPlace(w.Path) {
			return fmt.Errorf("%w: %q is a folder of the layout, or no place in it", registry.ErrBadPath, w.Path)
		}
	}
	return registry.CheckWrites(writes)
}
