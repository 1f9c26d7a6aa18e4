package kubernetesserver

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Image is an image made of files, with busybox's commands in it.
type Image struct {
	// Name is the name for pods, such as docker.io/local/task:1. With a tag other than latest, kubelets do not try to
	// pull it.
	Name string
	// Files are programs on this machine, by their paths in the image, such as /opt/elasticjob/executor.
	Files map[string]string
	// Folders are folders that all users may write to, besides /tmp.
	Folders []string
	// User is the user of its processes, such as 65532:65532; root by default.
	User string
	// Entrypoint and Command are what it runs, by default /bin/sh.
	Entrypoint, Command []string
}

// busybox comes from the package busybox-static.
var busybox = first("/bin/busybox", "/usr/bin/busybox")

// Box contains only busybox.
var Box = Image{Name: "docker.io/local/box:1"}

// Task returns the project's image for tasks, with the executor in a folder of programs.
func Task(programs string) Image {
	return Image{Name: "docker.io/local/task:1", User: "65532:65532", Folders: []string{"/elasticjob"},
		Files: map[string]string{"/opt/elasticjob/executor": filepath.Join(programs, "executor")}}
}

// Server returns the project's image for the server, with the programs in a folder.
func Server(programs string) Image {
	files := map[string]string{}
	for _, name := range []string{"scheduler", "executor", "elasticjob"} {
		files["/opt/elasticjob/"+name] = filepath.Join(programs, name)
	}
	return Image{Name: "docker.io/local/server:1", User: "65532:65532", Files: files,
		Entrypoint: []string{"/opt/elasticjob/scheduler"}}
}

// pause holds the namespaces of a pod.
var pause = Image{Name: "docker.io/local/pause:1", Command: []string{"/bin/sleep", "1000000000"}}

// commands are the commands in /bin for scripts.
var commands = strings.Fields(`sh ash awk base64 basename cat chmod cp cut date dd df dirname du echo env expr false find free grep
	gunzip gzip head hostname id kill ln ls md5sum mkdir mkfifo mktemp mv nc od pidof printf ps pwd readlink rm rmdir sed seq
	setsid sha256sum sleep sort stat sync tail tar tee test timeout touch tr true uname uniq wc wget which whoami xargs yes`)

// With returns the image with additional programs of this machine.
func (i Image) With(programs ...string) (Image, error) {
	files := map[string]string{}
	maps.Copy(files, i.Files)
	for _, name := range programs {
		program, err := exec.LookPath(name)
		if err != nil {
			return Image{}, err
		}
		files["/bin/"+name] = program
	}
	i.Files = files
	return i, nil
}

// linked returns the image's files and the libraries that its programs are linked with. The scheduler has some when
// it is built with the race detector.
func (i Image) linked() (map[string]string, error) {
	files := map[string]string{}
	maps.Copy(files, i.Files)
	for _, name := range i.Files {
		program, err := elf.Open(name)
		if err != nil {
			continue // a script
		}
		interpreter := slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
		if err := program.Close(); err != nil {
			return nil, err
		}
		if !interpreter {
			continue
		}
		said, err := exec.Command("ldd", name).Output()
		if err != nil {
			return nil, fmt.Errorf("ask what %s is linked with: %w", name, err)
		}
		for word := range strings.FieldsSeq(string(said)) {
			if strings.HasPrefix(word, "/") {
				files[word] = word
			}
		}
	}
	return files, nil
}

// write writes the image in the format of docker save.
func (i Image) write(to string) error {
	layer, err := i.layer()
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "created": "2026-01-01T00:00:00Z",
		"config": map[string]any{"User": i.User, "Entrypoint": i.Entrypoint, "Cmd": i.command(), "Env": []string{"PATH=/bin:/opt/elasticjob"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
	if err != nil {
		return err
	}
	name := strings.TrimPrefix(digest(config), "sha256:") + ".json"
	manifest, err := json.Marshal([]any{map[string]any{"Config": name, "RepoTags": []string{i.Name},
		"Layers": []string{"layer/layer.tar"}}})
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	w := tar.NewWriter(out)
	return errors.Join(file(w, name, config, 0o644), file(w, "layer/layer.tar", layer, 0o644),
		file(w, "manifest.json", manifest, 0o644), w.Close(), out.Close())
}

func (i Image) command() []string {
	if i.Command == nil && i.Entrypoint == nil {
		return []string{"/bin/sh"}
	}
	return i.Command
}

func digest(of []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(of)) }

// layer returns the commands, users and folders that an image needs, and its files.
func (i Image) layer() ([]byte, error) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	files, err := i.linked()
	failed := []error{err, copied(w, "bin/busybox", busybox)}
	for _, name := range commands {
		failed = append(failed, w.WriteHeader(&tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink,
			Linkname: "busybox"}))
	}
	for _, folder := range append([]string{"/tmp"}, i.Folders...) {
		failed = append(failed, w.WriteHeader(&tar.Header{Name: folder[1:] + "/", Typeflag: tar.TypeDir,
			Mode: 0o1777}))
	}
	failed = append(failed,
		file(w, "etc/passwd", []byte("root:x:0:0::/:/bin/sh\nelasticjob:x:65532:65532::/tmp:/bin/sh\n"), 0o644),
		file(w, "etc/group", []byte("root:x:0:\nelasticjob:x:65532:\n"), 0o644))
	for _, to := range slices.Sorted(maps.Keys(files)) {
		failed = append(failed, copied(w, strings.TrimPrefix(path.Clean(to), "/"), files[to]))
	}
	return text.Bytes(), errors.Join(append(failed, w.Close())...)
}

func copied(w *tar.Writer, to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return file(w, to, text, 0o755)
}

func file(w *tar.Writer, name string, text []byte, mode int64) error {
	err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(text)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
