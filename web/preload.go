package web

import (
	"bytes"
	"path"
	"regexp"
	"slices"
)

var (
	// script matches the page's scripts.
	script = regexp.MustCompile(`<script[^>]* src="\{static\}/([^"]+)"`)
	// imports matches what a module imports, or exports from another, by a relative path: not import(…), which waits
	// until it is wanted.
	imports = regexp.MustCompile(`(?m)^\s*(?:(?:import|export)\b[^'"();=]*\bfrom|import)\s*['"](\.\.?/[^'"]+)['"]`)
)

// preload puts a link into the page's head for each module that its scripts import, and that those import, so that the
// browser asks for all of them at once, and not for each when it has read the one before.
func preload(index []byte, texts map[string][]byte) []byte {
	var modules []string
	add := func(name string) {
		if _, there := texts[name]; there && !slices.Contains(modules, name) {
			modules = append(modules, name)
		}
	}
	for _, s := range script.FindAllSubmatch(index, -1) {
		add(string(s[1]))
	}
	first := len(modules)
	for i := 0; i < len(modules); i++ {
		for _, m := range imports.FindAllSubmatch(texts[modules[i]], -1) {
			add(path.Join(path.Dir(modules[i]), string(m[1])))
		}
	}
	var links bytes.Buffer
	for _, name := range modules[first:] {
		links.WriteString(`<link rel="modulepreload" href="` + placeholder + "/" + name + `">` + "\n")
	}
	return bytes.Replace(index, []byte("</head>"), append(links.Bytes(), "</head>"...), 1)
}
