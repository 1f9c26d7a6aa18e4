package isolation

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Unshared accounts have uids of this range, and the gids with the same numbers. useradd and systemd do not assign ids
// of the range: those of useradd end at 60000, those of systemd-homed end before the range, and those of DynamicUser
// begin after it. Containers with the usual 65,536 mapped ids include the range.
const (
	firstUnshared = 60578
	lastUnshared  = 61183
)

// directoryTimeout limits the wait for a directory service's answer about an id.
const directoryTimeout = 5 * time.Second

// Unshared finds an account that nothing else on this machine uses. The search begins at start, so that two servers
// with different values rarely find the same account. The account has numbers only, and no name.
//
// The user nobody exists everywhere, but is no alternative: other services run as nobody, and so do all processes with
// ids that the kernel can't map. Each of them could read jobs' files and environments and kill their processes, and a
// job could do that to them.
func Unshared(start uint32) (*Account, error) {
	return unshared("/etc", start, runningAs("/proc"))
}

func unshared(etc string, start uint32, running map[uint32]bool) (*Account, error) {
	const size = lastUnshared - firstUnshared + 1
	for i := range uint32(size) {
		if id := firstUnshared + (start%size+i)%size; !running[id] && !assigned(etc, id) {
			return accountOfIDs(id, id), nil
		}
	}
	return nil, fmt.Errorf("find a user for jobs: all of the uids %d to %d are in use", firstUnshared, lastUnshared)
}

// IsUnshared reports whether the account is in the range of Unshared and still has no name. It does not look for
// processes of the account, because jobs have such processes.
func (a *Account) IsUnshared() bool {
	return a.UID >= firstUnshared && a.UID <= lastUnshared && a.GID == a.UID && !assigned("/etc", a.UID)
}

// IDs returns the account as uid:gid. Lookup accepts that even if the machine does not know the ids.
func (a *Account) IDs() string { return fmt.Sprintf("%d:%d", a.UID, a.GID) }

// accountOfIDs returns an account that the machine need not know.
func accountOfIDs(uid, gid uint32) *Account {
	return &Account{Name: strconv.Itoa(int(uid)), UID: uid, GID: gid, Groups: []uint32{gid}}
}

// ParseIDs parses uid:gid, the format of IDs; the machine need not know the numbers.
func ParseIDs(text string) (a *Account, ok bool) {
	first, second, found := strings.Cut(text, ":")
	uid, err := strconv.ParseUint(first, 10, 32)
	gid, err2 := strconv.ParseUint(second, 10, 32)
	// The kernel's calls use the highest number for "no change".
	if !found || errors.Join(err, err2) != nil || uid == math.MaxUint32 || gid == math.MaxUint32 {
		return nil, false
	}
	return accountOfIDs(uint32(uid), uint32(gid)), true
}

// assigned reports whether the machine assigns the id to a user, a group or a user's containers. If a directory
// service does not answer, the id counts as unassigned there, because by convention nothing assigns ids of the range.
func assigned(etc string, id uint32) bool {
	isID := func(fields []string) bool { return len(fields) > 2 && fields[2] == strconv.Itoa(int(id)) }
	hasID := func(fields []string) bool { return inRange(fields, id) }
	files := map[string]func([]string) bool{"passwd": isID, "group": isID, "subuid": hasID, "subgid": hasID}
	for file, matches := range files {
		if listed(filepath.Join(etc, file), matches) {
			return true
		}
	}
	return inNameService("passwd", id) || inNameService("group", id)
}

// listed reports whether matches is true for a line of the file, split at colons.
func listed(path string, matches func(fields []string) bool) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if matches(strings.Split(lines.Text(), ":")) {
			return true
		}
	}
	return false
}

// inRange reports whether a line of /etc/subuid or /etc/subgid (name:first:count) includes the id.
func inRange(fields []string, id uint32) bool {
	if len(fields) != 3 {
		return false
	}
	first, err := strconv.ParseUint(fields[1], 10, 32)
	count, err2 := strconv.ParseUint(fields[2], 10, 32)
	return errors.Join(err, err2) == nil && uint64(id) >= first && uint64(id) < first+count
}

// inNameService asks the machine's name service, which also knows users of directories that are in no file of /etc.
// It runs getent, because this program is built without C and can't ask the service itself.
func inNameService(database string, id uint32) bool {
	ctx, cancel := context.WithTimeout(context.Background(), directoryTimeout)
	defer cancel()
	return exec.CommandContext(ctx, "getent", database, strconv.Itoa(int(id))).Run() == nil
}

// runningAs returns the users of all processes.
func runningAs(proc string) map[uint32]bool {
	users := map[uint32]bool{}
	statuses, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "status"))
	for _, path := range statuses {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // the process has ended
		}
		for line := range strings.Lines(string(text)) {
			ids, ok := strings.CutPrefix(line, "Uid:")
			if !ok {
				continue
			}
			const count = 3 // without the fourth id, that for files, which Do sets on threads of this process
			for _, id := range strings.Fields(ids)[:count] {
				if uid, err := strconv.ParseUint(id, 10, 32); err == nil {
					users[uint32(uid)] = true
				}
			}
		}
	}
	return users
}

// Try returns an error if this process, which must be root's, can't run processes as the account, or if the account
// can't have files in a folder, which it must be able to enter. In a container root may lack a right, the kernel may
// not map the ids, or the folder's file system may not store owners.
func (a *Account) Try(folder string) error {
	if !hasCapability(unix.CAP_KILL) {
		return fmt.Errorf("try processes of user %s: root may not end them here (CAP_KILL is missing)", a.Name)
	}
	dir, err := os.MkdirTemp(folder, "try-")
	if err != nil {
		return fmt.Errorf("try files of user %s: %w", a.Name, err)
	}
	if err = os.Chown(dir, int(a.UID), int(a.GID)); err == nil {
		err = a.Do(func() error {
			file := filepath.Join(dir, "file")
			return errors.Join(os.WriteFile(file, nil, 0o600), os.Remove(file))
		})
	}
	if err = errors.Join(err, os.Remove(dir)); err != nil {
		return fmt.Errorf("try files of user %s: %w", a.Name, err)
	}
	return nil
}

// hasCapability reports whether this process has a capability, which must be one of the first 32.
func hasCapability(capability int) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	return unix.Capget(&header, &has[0]) == nil && has[0].Effective&(1<<capability) != 0
}
