package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/output"
)

// Folders in the sandbox.
const (
	temporariesFolder = "tmp"
	workFoldersFolder = "work"
	keptFolder        = "kept"
)

// makeFolders creates the folders of tasks in the sandbox. The folders that tasks write to belong to the tasks'
// user, and the executor touches their content only with that user's rights. The sandbox itself belongs to the
// executor; the tasks' user may pass through it.
func makeFolders(config Config, as *isolation.Account) error {
	if config.container != nil { // the files of one task are too few for makeSpread to be worth it
		if err := errors.Join(makeFolder(config.Sandbox, temporariesFolder),
			makeFolder(config.Sandbox, workFoldersFolder)); err != nil {
			return fmt.Errorf("create the folder for the task: %w", err)
		}
		return nil
	}
	folders := []string{output.Folder, temporariesFolder, workFoldersFolder}
	if as != nil {
		folders = append(folders, keptFolder) // the tasks' user could not create it in the executor's sandbox
	}
	err := allowTraversal(config.Sandbox, as)
	for _, folder := range folders {
		err = errors.Join(err, makeSpread(config.Sandbox, folder))
		path := filepath.Join(config.Sandbox, folder)
		switch {
		case err != nil || as == nil:
		case folder == output.Folder:
			err = os.Chmod(path, 0o700) // tasks have their output open and need no access to the folder
		default:
			err = os.Lchown(path, int(as.UID), int(as.GID))
		}
	}
	if err != nil {
		return fmt.Errorf("create the folder for tasks: %w", err)
	}
	return nil
}

func makeFolder(parent, name string) error {
	if err := os.Mkdir(filepath.Join(parent, name), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// allowTraversal allows the account, by its group, to pass through a folder of the executor. It closes the folder to
// all other users. Without an account it does nothing.
func allowTraversal(folder string, as *isolation.Account) error {
	if as == nil {
		return nil
	}
	return errors.Join(os.Chown(folder, os.Geteuid(), int(as.GID)), os.Chmod(folder, 0o710))
}
