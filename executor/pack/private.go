package pack

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// fetchPrivate fetches a package for one task only.
func (s *Store) fetchPrivate(ctx context.Context, source Source) (Package, error) {
	s.mu.Lock()
	s.number++
	number := fmt.Sprint(s.number)
	s.mu.Unlock()
	folder, err := s.openPrivate(number)
	if err != nil {
		return Package{}, err
	}
	defer func() { _ = folder.Close() }()
	sum, err := s.fetchAndUnpack(ctx, source, folder)
	if err != nil {
		s.removePrivate(number)
		return Package{}, err
	}
	release := func() { s.removePrivate(number) }
	return Package{Dir: filepath.Join(s.private, number, unpacked), SHA256: sum, Release: release}, nil
}

// openPrivate creates a folder that only this executor uses.
func (s *Store) openPrivate(number string) (*os.Root, error) {
	if err := os.MkdirAll(filepath.Dir(s.private), 0o755); err != nil {
		return nil, err
	}
	parent, err := os.OpenRoot(filepath.Dir(s.private))
	if err != nil {
		return nil, err
	}
	defer func() { _ = parent.Close() }()
	all := filepath.Base(s.private)
	name := path.Join(all, number)
	err = makeFolder(parent, all)
	if err == nil {
		_ = RemoveBelow(parent, name) // only a task can have created it
		err = parent.Mkdir(name, 0o755)
	}
	if err != nil {
		return nil, err
	}
	return parent.OpenRoot(name)
}

// removePrivate removes a folder that only this executor uses, or all of them if number is empty.
func (s *Store) removePrivate(number string) {
	parent, err := os.OpenRoot(filepath.Dir(s.private))
	if err != nil {
		return // there is no private folder
	}
	defer func() { _ = parent.Close() }()
	s.remove(parent, path.Join(filepath.Base(s.private), number))
}

// sealPrivate seals a package that only this executor uses.
func (s *Store) sealPrivate(ctx context.Context, dir string) (inventory, error) {
	root, err := openIn(filepath.Dir(s.private), dir)
	if err != nil {
		return inventory{}, err
	}
	defer func() { _ = root.Close() }()
	return seal(ctx, root, dir)
}
