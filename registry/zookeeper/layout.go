package zookeeper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/elasticjob-go/elasticjob/registry"
)

// These are nodes of the registry itself, which are not entries.
const (
	electionPath = "/ha/election"
	ownPath      = "/registry"
	fencePath    = ownPath + "/fence"
	entriesPath  = ownPath + "/entries" // the folder of all entries outside the original's layout
	stagedPath   = ownPath + "/staged"  // the folder of the parts of commits that are too large for one request
	namedPath    = ownPath + "/commit"  // the commit whose parts are being applied
	sharedPath   = ownPath + "/shared"  // the folder of values outside all terms
)

const (
	frameworkPath = "/ha/framework_id"
	readyPath     = "/state/ready"
)

// editedFolders are the folders whose entries users and the original's console may change.
var editedFolders = []string{"/config/app", "/config/job", "/state/disable/app", "/state/disable/job"}

// queueFolders are the folders of the original that contain a folder for each job.
var queueFolders = []string{"/state/failover", "/state/running"}

// reservedTrees are the subtrees in which only the paths of the original's layout can be entries.
var reservedTrees = append([]string{"/config", "/ha", "/state/disable", readyPath, ownPath}, queueFolders...)

// isEdited reports whether the path is an entry of a folder in editedFolders.
func isEdited(path string) bool { return slices.Contains(editedFolders, folderOf(path)) }

// isOriginal reports whether the path is an entry of the original's layout. Its node has the same path.
func isOriginal(path string) bool {
	folder := folderOf(path)
	return slices.Contains(editedFolders, folder) || folder == readyPath || path == frameworkPath ||
		slices.Contains(queueFolders, folderOf(folder))
}

// isReserved reports whether the path is in a subtree in reservedTrees.
func isReserved(path string) bool {
	return slices.ContainsFunc(reservedTrees,
		func(part string) bool { return path == part || strings.HasPrefix(path, part+"/") })
}

// isEntryPath reports whether an entry can have the path.
func isEntryPath(path string) bool { return isOriginal(path) || !isReserved(path) }

// area returns the folder that contains the entry's node: a folder of the original, or the folder of all other
// entries.
func area(path string) string {
	if isOriginal(path) {
		return folderOf(path)
	}
	return entriesPath
}

// These escape the path of an entry outside the original's layout, as JSON pointers do (RFC 6901). The escaped path is
// the name of the entry's node in entriesPath, so that no parents have to be created and removed.
var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~0", "~", "~1", "/")
)

// nodeOf returns the node of the entry at a path, relative to the namespace. It returns a path of the registry's own
// nodes unchanged.
func nodeOf(path string) string {
	if isOriginal(path) || strings.HasPrefix(path, ownPath+"/") {
		return path
	}
	return entriesPath + "/" + escape.Replace(path[1:])
}

// pathOf returns the path of the entry whose node has this name in the folder.
func pathOf(folder, name string) string {
	if folder == entriesPath {
		return "/" + unescape.Replace(name)
	}
	return folder + "/" + name
}

// folderOf returns the parent of a path. The parent of a top-level path is empty.
func folderOf(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }

// checkWrites returns an error if the writes of a commit are not valid in any state of the registry.
func checkWrites(writes []registry.Write) error {
	for _, w := range writes {
		if err := checkPath(w.Path); err != nil {
			return err
		}
		if !isEntryPath(w.Path) {
			return fmt.Errorf("%w: %q is a folder of the layout, or not a place for an entry", registry.ErrBadPath,
				w.Path)
		}
	}
	return registry.CheckWrites(writes)
}
