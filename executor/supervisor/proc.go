package supervisor

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/elasticjob-go/elasticjob/internal/cgroup"
)

// peek returns the pid of a child that has ended, without reaping it. With WNOHANG it returns 0 if no child has
// ended.
func peek(options int) (int, error) {
	// The first words of the C structure on 64-bit Linux; x/sys exports only the first three.
	type childInfo struct {
		signo, errno, code, _ int32
		pid                   int32
	}
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
	if err != nil {
		return 0, err
	}
	return int((*childInfo)(unsafe.Pointer(&info)).pid), nil
}

// orphans lists the children of the process's first thread: the processes that tasks left behind (see Serve).
func orphans() []int {
	return childrenIn("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children")
}

// children lists all children of this process.
func children() []int {
	files, _ := filepath.Glob("/proc/self/task/[0-9]*/children") // the pattern is valid
	return childrenIn(files...)
}

// childrenIn reads the kernel's lists of the children of threads.
func childrenIn(files ...string) (all []int) {
	known := false
	for _, file := range files {
		data, err := os.ReadFile(file) // the thread may be gone
		known = known || err == nil
		for field := range bytes.FieldsSeq(data) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				all = append(all, pid)
			}
		}
	}
	if !known {
		return childrenByParent()
	}
	return all
}

// childrenByParent finds the children in all of /proc, for kernels without these lists.
func childrenByParent() []int {
	self := strconv.Itoa(os.Getpid())
	return slices.DeleteFunc(processes(), func(pid int) bool {
		stat := statOf(pid)
		return len(stat) < 2 || stat[1] != self
	})
}

// processes lists the pids of all processes in /proc.
func processes() []int { return numbersIn("/proc") }

// numbersIn lists the entries of a kernel folder whose names are numbers.
func numbersIn(folder string) (list []int) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	for _, entry := range entries {
		if number, err := strconv.Atoi(entry.Name()); err == nil {
			list = append(list, number)
		}
	}
	return list
}

// statOf returns the fields of /proc/PID/stat after the process's name (which may contain any character): its
// state, its parent and so on. It returns nil if the process is gone.
func statOf(pid int) []string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
}

// nameOf returns the name of a process, without its arguments, which may be secret; "" if it has ended.
func nameOf(pid int) string {
	if stat := statOf(pid); len(stat) == 0 || stat[0] == "Z" || stat[0] == "X" {
		return ""
	}
	name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// oomCounter reads how many processes of this process's control group the kernel has ended because memory was out. The
// zero value always counts zero.
type oomCounter struct{ file *os.File }

// newOOMCounter opens the counter of the group that this process is in now.
func newOOMCounter() (c oomCounter) {
	if name := cgroup.EventsFile(os.DirFS("/")); name != "" {
		c.file, _ = os.Open("/" + name) // nil without it
	}
	return c
}

func (c oomCounter) count() int64 {
	if c.file == nil {
		return 0
	}
	text := make([]byte, 1024)
	n, _ := c.file.ReadAt(text, 0)
	kills, _ := cgroup.OOMKills(text[:n])
	return kills
}

// hasVariable reports whether a process was started with the variable (NAME=value).
func hasVariable(pid int, variable string) bool {
	if variable == "" {
		return false
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && slices.Contains(strings.Split(string(environ), "\x00"), variable)
}

// closeOnExec keeps tasks from inheriting this process's descriptors, such as the socket.
func closeOnExec() {
	for _, fd := range numbersIn("/proc/self/fd") {
		if fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
