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
	// Name is the name of the image in pods, such as docker.io/local/task:1. Its tag must not be latest, because
	// kubelets would try to pull the image.
	Name string
	// Files are the paths of programs on this machine, by their paths in the image, such as /opt/elasticjob/executor.
	Files map[string]string
	// Folders are folders in the image that all users may write to, besides /tmp.
	Folders []string
	// User is the user of the processes, such as 65532:65532; root by default.
	User string
	// Entrypoint and Command are the entrypoint and its arguments. Without both, Command is /bin/sh.
	Entrypoint, Command []string
}

// busybox is the program of the package busybox-static.
var busybox = firstExisting("/bin/busybox", "/usr/bin/busybox")

// Box contains only busybox.
var Box = Image{Name: "docker.io/local/box:1"}

// Task returns an image for tasks, with the executor from a folder of programs on this machine.
func Task(programs string) Image {
	return Image{Name: "docker.io/local/task:1", User: "65532:65532", Folders: []string{"/elasticjob"},
		Files: map[string]string{"/opt/elasticjob/executor": filepath.Join(programs, "executor")}}
}

// Server returns an image for the server, with the programs from a folder on this machine.
func Server(programs string) Image {
	files := map[string]string{}
	for _, name := range []string{"scheduler", "executor", "elasticjob"} {
		files["/opt/elasticjob/"+name] = filepath.Join(programs, name)
	}
	return Image{Name: "docker.io/local/server:1", User: "65532:65532", Files: files,
		Entrypoint: []string{"/opt/elasticjob/scheduler"}}
}

// pause is the image of the process that holds the namespaces of a pod.
var pause = Image{Name: "docker.io/local/pause:1", Command: []string{"/bin/sleep", "1000000000"}}

// commands are the commands of busybox that scripts find in /bin.
var commands = strings.Fields(`sh ash awk base64 basename cat chmod cp cut date dd df dirname du echo env expr false find free grep
	gunzip gzip head hostname id kill ln ls md5sum mkdir mkfifo mktemp mv nc od pidof printf ps pwd readlink rm rmdir sed seq
	setsid sha256sum sleep sort stat sync tail tar tee test timeout touch tr true uname uniq wc wget which whoami xargs yes`)

// With returns the image with additional programs of this machine in /bin. The programs are found in PATH.
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

// withLibraries returns the image's files and the libraries with which its programs are linked. For example, the
// scheduler has libraries when it is built with the race detector.
func (i Image) withLibraries() (map[string]string, error) {
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
		output, err := exec.Command("ldd", name).Output()
		if err != nil {
			return nil, fmt.Errorf("list the libraries of %s: %w", name, err)
		}
		for word := range strings.FieldsSeq(string(output)) {
			if strings.HasPrefix(word, "/") {
				files[word] = word
			}
		}
	}
	return files, nil
}

// write writes the image to a file, in the format of docker save.
func (i Image) write(to string) error {
	layer, err := i.layer()
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux", "created": "2026-01-01T00:00:00Z",
		"config": map[string]any{"User": i.User, "Entrypoint": i.Entrypoint, "Cmd": i.command(),
			"Env": []string{"PATH=/bin:/opt/elasticjob"}},
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
	return errors.Join(addFile(w, name, config, 0o644), addFile(w, "layer/layer.tar", layer, 0o644),
		addFile(w, "manifest.json", manifest, 0o644), w.Close(), out.Close())
}

func (i Image) command() []string {
	if i.Command == nil && i.Entrypoint == nil {
		return []string{"/bin/sh"}
	}
	return i.Command
}

func digest(of []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(of)) }

// layer returns the tar archive of the image's only layer: busybox and its commands, the users, the folders and the
// files.
func (i Image) layer() ([]byte, error) {
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	files, err := i.withLibraries()
	errs := []error{err, copyFile(w, "bin/busybox", busybox)}
	for _, name := range commands {
		errs = append(errs, w.WriteHeader(&tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink,
			Linkname: "busybox"}))
	}
	for _, folder := range append([]string{"/tmp"}, i.Folders...) {
		errs = append(errs, w.WriteHeader(&tar.Header{Name: folder[1:] + "/", Typeflag: tar.TypeDir,
			Mode: 0o1777}))
	}
	errs = append(errs,
		addFile(w, "etc/passwd", []byte("root:x:0:0::/:/bin/sh\nelasticjob:x:65532:65532::/tmp:/bin/sh\n"), 0o644),
		addFile(w, "etc/group", []byte("root:x:0:\nelasticjob:x:65532:\n"), 0o644))
	for _, to := range slices.Sorted(maps.Keys(files)) {
		errs = append(errs, copyFile(w, strings.TrimPrefix(path.Clean(to), "/"), files[to]))
	}
	return text.Bytes(), errors.Join(append(errs, w.Close())...)
}

func copyFile(w *tar.Writer, to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return addFile(w, to, text, 0o755)
}

func addFile(w *tar.Writer, name string, text []byte, mode int64) error {
	err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(text)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}
