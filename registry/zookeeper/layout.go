package zookeeper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/registry"
)

// Nodes of the registry itself, which are not entries.
const (
	electionPath = "/ha/election"
	ownPath      = "/registry"
	fencePath    = ownPath + "/fence"
	entriesPath  = ownPath + "/entries" // all entries that have no place in the original's layout
	stagedPath   = ownPath + "/staged"  // parts of commits that are too large for one request
	namedPath    = ownPath + "/commit"  // the commit whose parts are being applied
	sharedPath   = ownPath + "/shared"  // values outside all terms
)

const (
	frameworkPath = "/ha/framework_id"
	readyPath     = "/state/ready"
)

// edited are the folders whose entries users and the original's console may change.
var edited = []string{"/config/app", "/config/job", "/state/disable/app", "/state/disable/job"}

// queues are the folders of the original that contain a folder per job.
var queues = []string{"/state/failover", "/state/running"}

// reserved are the subtrees in which only the places of the original's layout are entries.
var reserved = append([]string{"/config", "/ha", "/state/disable", readyPath, ownPath}, queues...)

// isEdited reports whether the path is an entry of a folder that users may change.
func isEdited(path string) bool { return slices.Contains(edited, folderOf(path)) }

// isOriginal reports whether the path is an entry of the original's layout. Its node has the same path.
func isOriginal(path string) bool {
	folder := folderOf(path)
	return slices.Contains(edited, folder) || folder == readyPath || path == frameworkPath ||
		slices.Contains(queues, folderOf(folder))
}

// isReserved reports whether the path is in a subtree of the original or of the registry itself.
func isReserved(path string) bool {
	return slices.ContainsFunc(reserved,
		func(part string) bool { return path == part || strings.HasPrefix(path, part+"/") })
}

// isPlace reports whether an entry can be at the path.
func isPlace(path string) bool { return isOriginal(path) || !isReserved(path) }

// area returns the folder whose list shows whether the path exists: a folder of the original, or the folder of all
// other entries.
func area(path string) string {
	if isOriginal(path) {
		return folderOf(path)
	}
	return entriesPath
}

// An entry outside the original's layout is one node in one folder, named by its escaped path, so that no parents have
// to be created and removed. The escaping is that of JSON pointers (RFC 6901).
var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~0", "~", "~1", "/")
)

// nodeOf returns the node of the entry at a path, relative to the namespace. It returns the registry's own nodes
// unchanged.
func nodeOf(path string) string {
	if isOriginal(path) || strings.HasPrefix(path, ownPath+"/") {
		return path
	}
	return entriesPath + "/" + escape.Replace(path[1:])
}

// pathOf returns the path of the entry whose node is the child name of folder.
func pathOf(folder, name string) string {
	if folder == entriesPath {
		return "/" + unescape.Replace(name)
	}
	return folder + "/" + name
}

// folderOf returns the parent of a path; that of a top-level path is empty.
func folderOf(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// checkWrites checks the writes of a commit without asking ZooKeeper.
func checkWrites(writes []registry.Write) error {
	for _, w := range writes {
		if err := checkPath(w.Path); err != nil {
			return err
		}
		if !isPlace(w.Path) {
			return fmt.Errorf("%w: %q is a folder of the layout, or not a place for an entry", registry.ErrBadPath,
				w.Path)
		}
	}
	return registry.CheckWrites(writes)
}
