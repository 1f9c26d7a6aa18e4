package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// bom is an SBOM in CycloneDX 1.5, limited to the fields that are used. It has no serial number, which would differ
// between builds.
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func componentOf(kind, name, version, purl string) component {
	return component{Type: kind, Ref: purl, Name: name, Version: version, PURL: purl}
}

// sbom lists the components of a platform's programs: the linked Go modules, and the libraries of the console.
func (r release) sbom(platform string, linked []linkedModule) ([]byte, error) {
	whole := componentOf("application", "elasticjob", r.version, fmt.Sprintf("pkg:golang/%s@%s", module, r.version))
	whole.Properties = []property{{"commit", r.commit}, {"platform", platform}}
	b := bom{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{r.time.Format(time.RFC3339), whole}}
	for _, m := range linked {
		b.Components = append(b.Components,
			componentOf("library", m.path, m.version, fmt.Sprintf("pkg:golang/%s@%s", m.path, m.version)))
	}
	text, err := os.ReadFile(filepath.Join(r.root, "web", "package.json"))
	if err != nil {
		return nil, fmt.Errorf("read what the console imports: %w", err)
	}
	var pinned struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(text, &pinned); err != nil {
		return nil, fmt.Errorf("read web/package.json: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(pinned.Dependencies)) {
		version := pinned.Dependencies[name]
		b.Components = append(b.Components,
			componentOf("library", name, version, fmt.Sprintf("pkg:npm/%s@%s", name, version)))
	}
	out, err := json.MarshalIndent(b, "", "  ")
	return append(out, '\n'), err
}
