package pack

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// ratioThreshold is how many bytes may be unpacked before the ratio is checked.
const ratioThreshold = 64 << 20

// target is the folder into which a package is unpacked. Every write goes through root, so that it stays in the folder,
// whatever links the folder has.
type target struct {
	root    *os.Root
	limits  Limits
	source  *counter
	folders map[string]bool
	links   bool // whether the package has links
	whole   bool // Source.Whole
	format  string
	entries int
	files   int
	bytes   int64
}

// clean checks a name and returns its shortest form, which is "." for the folder itself.
func (t *target) clean(name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("its name is empty")
	case strings.ContainsRune(name, 0):
		return "", errors.New("its name contains a zero byte")
	case path.IsAbs(name):
		return "", errors.New("absolute path")
	case len(name) > t.limits.Name:
		return "", fmt.Errorf("path of %d bytes; at most %d are allowed", len(name), t.limits.Name)
	}
	parts := 0
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", errors.New(`path leads up ("..")`)
		}
		if len(part) > 255 {
			return "", fmt.Errorf("path component of %d bytes; at most 255 are allowed", len(part))
		}
		parts++
	}
	if parts > t.limits.Depth {
		return "", fmt.Errorf("path of %d components; at most %d are allowed", parts, t.limits.Depth)
	}
	return path.Clean(name), nil
}

func (t *target) count() error {
	t.entries++
	if t.entries > t.limits.Files {
		return limitError(fmt.Sprintf("more than %d files and folders", t.limits.Files))
	}
	return t.source.ctx.Err()
}

// enter cleans the name of an entry, counts the entry and creates its parent folders.
func (t *target) enter(name string) (string, error) {
	name, err := t.clean(name)
	if err != nil {
		return "", err
	}
	if err := t.count(); err != nil {
		return "", err
	}
	return name, t.mkdir(path.Dir(name))
}

func (t *target) mkdir(name string) error {
	if name == "." || t.folders[name] {
		return nil
	}
	if err := t.mkdir(path.Dir(name)); err != nil {
		return err
	}
	if err := t.count(); err != nil {
		return err
	}
	err := t.root.Mkdir(name, 0o755)
	if errors.Is(err, fs.ErrExist) {
		info, statErr := t.root.Stat(name)
		if errors.Is(statErr, fs.ErrNotExist) {
			return fmt.Errorf("%q is both a dangling link and a folder", name)
		}
		if statErr != nil {
			return statErr
		}
		if !info.IsDir() {
			return fmt.Errorf("%q is both a file and a folder", name)
		}
		err = nil
	}
	if err == nil {
		t.folders[name] = true
	}
	return err
}

func (t *target) folder(name string) error {
	name, err := t.enter(name)
	if err != nil {
		return err
	}
	return t.mkdir(name)
}

// replace removes an earlier entry with the same name, because the last entry wins.
func (t *target) replace(name string) error {
	if name == "." {
		return errors.New("its name is the package's own folder")
	}
	info, err := t.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		return errors.New("is both a file and a folder")
	}
	clear(t.folders) // the paths of some may lead through a link with that name
	return t.root.Remove(name)
}

func (t *target) file(name string, mode os.FileMode, content io.Reader) error {
	name, err := t.enter(name)
	if err != nil {
		return err
	}
	// Files are read-only, because tasks share packages.
	if mode&0o111 != 0 {
		mode = 0o555
	} else {
		mode = 0o444
	}
	// Most names are new, so replace is called only if the creation fails.
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		if err := t.replace(name); err != nil {
			return err
		}
		if f, err = t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
			return err
		}
	}
	_, err = io.Copy(&limited{t: t, w: f}, content)
	t.files++
	return errors.Join(err, f.Close())
}

// limited is a writer that enforces the limits.
type limited struct {
	t *target
	w io.Writer
}

func (l *limited) Write(p []byte) (int, error) {
	t := l.t
	t.bytes += int64(len(p))
	if t.bytes > t.limits.Bytes {
		return 0, limitError(fmt.Sprintf("the package unpacks to more than %d bytes", t.limits.Bytes))
	}
	if err := t.checkRatio(t.bytes); err != nil {
		return 0, err
	}
	if err := t.source.ctx.Err(); err != nil {
		return 0, err
	}
	return l.w.Write(p)
}

func (t *target) symlink(name, linkTarget string) error {
	name, err := t.enter(name)
	if err != nil {
		return err
	}
	if !isAllowed(name, linkTarget) {
		return fmt.Errorf("link to %.200q, which isn't in the package", linkTarget)
	}
	if err := t.replace(name); err != nil {
		return err
	}
	t.links = true
	return t.root.Symlink(linkTarget, name)
}

// isAllowed reports whether the text of a link leads into the package or is absolute. The python of a virtual
// environment, for example, is an absolute link to a file of the agent. A relative link out of the package is a
// mistake of packing, or an attempt to hide its target.
func isAllowed(name, linkTarget string) bool {
	if linkTarget == "" || strings.ContainsRune(linkTarget, 0) {
		return false
	}
	if path.IsAbs(linkTarget) {
		return true
	}
	inPackage := path.Join(path.Dir(name), linkTarget)
	return inPackage != ".." && !strings.HasPrefix(inPackage, "../")
}

// checkLinks follows every relative link once the package is complete. That is necessary, because a chain of links can
// lead out of the package although the text of each link does not, and because a link can be in another folder than
// the name of its entry says. A link to a missing file within the package is harmless. checkLinks does not follow an
// absolute link: its target belongs to the agent, and only the task's process opens it, with its own rights.
func (t *target) checkLinks() error {
	if !t.links {
		return nil
	}
	return fs.WalkDir(t.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		if err := t.source.ctx.Err(); err != nil {
			return err
		}
		linkTarget, err := t.root.Readlink(name)
		if err != nil {
			return err
		}
		if !isAllowed(name, linkTarget) {
			return fmt.Errorf("entry %.200q: link to %.200q, which isn't in the package", name, linkTarget)
		}
		if _, err := follow(t.root, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("entry %.200q: link that can't be followed within the package: %w", name, err)
		}
		return nil
	})
}

// maxLinks is the number of links that the kernel follows in one path.
const maxLinks = 40

// follow looks up a name below root and follows links, up to the first absolute link. It returns the path to which
// that leads, or "" if there is no absolute link. The error is fs.ErrNotExist if the name leads to no file.
func follow(root *os.Root, name string) (outside string, err error) {
	folder, rest, links := ".", strings.Split(name, "/"), 0
	for len(rest) > 0 {
		next := rest[0]
		rest = rest[1:]
		if next == ".." && folder == "." {
			return "", errors.New("it leads out of the package")
		}
		next = path.Join(folder, next)
		info, err := root.Lstat(next)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			folder = next
			continue
		}
		linkTarget, err := root.Readlink(next)
		if err != nil {
			return "", err
		}
		if path.IsAbs(linkTarget) {
			return path.Join(append([]string{linkTarget}, rest...)...), nil
		}
		if links++; links > maxLinks {
			return "", errors.New("too many links")
		}
		rest = append(strings.Split(linkTarget, "/"), rest...)
	}
	return "", nil
}

// Outside returns the path on the agent to which a name in the folder of a package leads through an absolute link, or
// "" if it leads through none. The caller may access the file there only with the rights of the task's user.
func Outside(dir, name string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }()
	outside, err := follow(root, path.Clean(name))
	if err != nil {
		return ""
	}
	return outside
}

func (t *target) hardlink(name, linkTarget string) error {
	name, err := t.enter(name)
	if err != nil {
		return err
	}
	existing, err := t.clean(linkTarget)
	if err != nil {
		return fmt.Errorf("hard link to %.200q: %w", linkTarget, err)
	}
	info, err := t.root.Lstat(existing)
	if err != nil {
		return fmt.Errorf("hard link to %.200q, which isn't in the package before it", existing)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("hard link to %.200q, which is not a file", existing)
	}
	if name == existing {
		return nil
	}
	if err := t.replace(name); err != nil {
		return err
	}
	t.files++
	return t.root.Link(existing, name)
}
