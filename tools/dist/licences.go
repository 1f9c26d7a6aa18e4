package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// licenceFile matches the names of files with the terms under which a module may be distributed.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright)([.-].*)?$`)

// licences returns the licences of all linked modules and of the console's libraries, one after the other. A module
// without a licence is an error, because it must not be distributed.
func (r release) licences(linked []linkedModule, programs []string, system, arch string) ([]byte, error) {
	folders, err := r.folders(programs, system, arch)
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	all.WriteString("ElasticJob contains the following, each under its own terms.\n")
	add := func(title string, text []byte) {
		fmt.Fprintf(&all, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), title, bytes.TrimSpace(text))
	}
	for _, m := range linked {
		files, err := os.ReadDir(folders[m.path])
		if err != nil {
			return nil, fmt.Errorf("find the licence of %s: %w", m.path, err)
		}
		found := false
		for _, file := range files {
			if file.IsDir() || !licenceFile.MatchString(file.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folders[m.path], file.Name()))
			if err != nil {
				return nil, err
			}
			found = true
			add(fmt.Sprintf("%s %s: %s", m.path, m.version, file.Name()), text)
		}
		if !found {
			return nil, fmt.Errorf("there is no licence in %s, the folder of %s", folders[m.path], m.path)
		}
	}
	text, err := os.ReadFile(filepath.Join(r.root, "web", "static", "vendor", "LICENSES"))
	if err != nil {
		return nil, fmt.Errorf("read the licences of the console's libraries: %w", err)
	}
	add("libraries of the console", text)
	return all.Bytes(), nil
}

// folders returns the folders of the modules that the programs use, and of Go itself as "std". The whole build list
// contains more modules, which would have to be downloaded.
func (r release) folders(programs []string, system, arch string) (map[string]string, error) {
	const format = "{{with .Module}}{{with .Replace}}{{.Path}}\t{{.Dir}}{{else}}{{.Path}}\t{{.Dir}}{{end}}{{end}}"
	list, err := r.platformCommand(programs, system, arch, "list", "-deps", "-f", format)
	if err != nil {
		return nil, err
	}
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	folders := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		folders[path] = dir
	}
	goroot, err := r.command("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	root, err := goroot.Output()
	folders["std"] = strings.TrimSpace(string(root))
	return folders, err
}
