package web

import (
	"bytes"
	"path"
	"regexp"
	"slices"
)

var (
	// scripts matches the scripts of the page.
	scripts = regexp.MustCompile(`<script[^>]* src="\{static\}/([^"]+)"`)
	// imports matches imports and exports from another module with a relative path. It does not match import(…),
	// which loads a module only when it is needed.
	imports = regexp.MustCompile(`(?m)^\s*(?:(?:import|export)\b[^'"();=]*\bfrom|import)\s*['"](\.\.?/[^'"]+)['"]`)
)

// preload adds a link to the page's head for each module that its scripts import, directly or indirectly, so that the
// browser requests all of them at once instead of one level after the other.
func preload(index []byte, texts map[string][]byte) []byte {
	var modules []string
	add := func(name string) {
		if _, exists := texts[name]; exists && !slices.Contains(modules, name) {
			modules = append(modules, name)
		}
	}
	for _, s := range scripts.FindAllSubmatch(index, -1) {
		add(string(s[1]))
	}
	imported := len(modules) // the index of the first module that the page does not name itself
	for i := 0; i < len(modules); i++ {
		for _, m := range imports.FindAllSubmatch(texts[modules[i]], -1) {
			add(path.Join(path.Dir(modules[i]), string(m[1])))
		}
	}
	var links bytes.Buffer
	for _, name := range modules[imported:] {
		links.WriteString(`<link rel="modulepreload" href="` + placeholder + "/" + name + `">` + "\n")
	}
	return bytes.Replace(index, []byte("</head>"), append(links.Bytes(), "</head>"...), 1)
}
